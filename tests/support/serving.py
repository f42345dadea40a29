"""A server in a thread of its own, with a connection to it."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer


@contextmanager
def serving(server: ThreadingHTTPServer) -> Iterator[http.client.HTTPConnection]:
    """Serve until the end of the block."""
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
        try:
            yield connection
        finally:
            connection.close()
            server.shutdown()
            thread.join()
