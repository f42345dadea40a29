from loop.diff_lines import Line, read_lines


def read(diff: bytes) -> list[Line]:
    return list(read_lines(diff))


def test_lines_have_the_number_they_have_in_the_new_file() -> None:
    diff = b"--- a/x\n+++ b/x\n@@ -3,3 +3,4 @@ def f\n a\n-b\n+c\n+d\n e\n@@ -9 +10 @@\n-y\n+z\n"

    assert read(diff) == [
        Line("x", 1, 3, b" ", b"a"),
        Line("x", 1, 4, b"-", b"b"),
        Line("x", 1, 4, b"+", b"c"),
        Line("x", 1, 5, b"+", b"d"),
        Line("x", 1, 6, b" ", b"e"),
        Line("x", 2, 10, b"-", b"y"),
        Line("x", 2, 10, b"+", b"z"),
    ]


def test_content_that_looks_like_a_head_is_content() -> None:
    diff = b"--- a/x\n+++ b/x\n@@ -0,0 +1,3 @@\n+++ b/evil\n+diff --git a/y b/y\n+@@ -1 +1 @@\n"

    assert [(line.path, line.content) for line in read(diff)] == [
        ("x", b"++ b/evil"),
        ("x", b"diff --git a/y b/y"),
        ("x", b"@@ -1 +1 @@"),
    ]


def test_paths_are_read_as_git_writes_them() -> None:
    paths = {
        rb'"b/caf\303\251 \"q\"\\\t.py"': 'café "q"\\\t.py',
        b"b/a b.py\t": "a b.py",
        rb'"b/\377.py"': "\udcff.py",
        b"b/b/x": "b/x",
    }

    for written, path in paths.items():
        (line,) = read(b"--- /dev/null\n+++ " + written + b"\n@@ -0,0 +1 @@\n+x\n")
        assert line.path == path


def test_a_deleted_file_has_its_old_path() -> None:
    diff = b"diff --git a/x b/x\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\\ No newline at end of file\n"

    assert read(diff) == [Line("x", 1, 0, b"-", b"a")]


def test_a_missing_line_feed_is_no_line_and_binary_parts_have_none() -> None:
    diff = (
        b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"
        b"diff --git a/b.bin b/b.bin\nnew file mode 100644\nGIT binary patch\nliteral 4\nLcmZ<p0000\n\n"
        b"diff --git a/z b/z\n--- a/z\n+++ b/z\n@@ -1,2 +1 @@\n x\n-y\n"
    )

    assert [(line.path, line.content) for line in read(diff)] == [
        ("x", b"a"),
        ("x", b"b"),
        ("z", b"x"),
        ("z", b"y"),
    ]


def test_a_diff_that_ends_early_gives_what_is_there() -> None:
    assert read(b"--- a/x\n+++ b/x\n@@ -0,0 +1,9 @@\n+only") == [Line("x", 1, 1, b"+", b"only")]


def test_contents_stay_out_of_what_is_printed() -> None:
    assert "hidden" not in repr(read(b"--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+hidden\n"))
