"""The forms by the path that their requests come to.

Pure: no I/O.
"""

from proxy.scripted import chat, messages, responses
from proxy.scripted.form import Form

FORMS: dict[str, Form] = {
    "/v1/messages": messages,
    "/v1/responses": responses,
    "/v1/chat/completions": chat,
}
