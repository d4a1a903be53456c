import dataclasses
import gzip
import json
import os

import pytest

from rag.errors import RecordError, SettingsError
from rag.plugins import BUILTIN
from rag.readers import read_papers
from rag.readers.source import LONGEST_LINE
from rag.schema import BadRecord, Note, Paper


def write(tmp_path, name, content, encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def parted(items):
    items = list(items)
    kinds = (Paper, BadRecord, Note)
    return tuple([item for item in items if isinstance(item, kind)] for kind in kinds)


RIS = "TY  - JOUR\nTI  - {}\nAU  - {}\nAB  - {}\nER  - \n"
GREEK = RIS.format(
    "Μελέτη της επίδρασης του κλίματος",
    "Παπαδόπουλος, Γιώργος",
    "Τα αποτελέσματα δείχνουν ότι η μέθοδος βελτιώνει την απόδοση των φυτών.",
)
FRENCH = RIS.format(
    "Étude des propriétés mécaniques d'éléments préfabriqués",
    "Lefèvre, Hélène",
    "Les résultats montrent que la méthode proposée améliore l'efficacité élevée.",
)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
def test_b05_each_encoding_gives_the_same_papers(tmp_path, encoding, end):
    text = (GREEK + FRENCH).replace("\n", end)
    papers, bad, notes = parted(read_papers(write(tmp_path, "a.ris", text, encoding)))
    plain, _, _ = parted(read_papers(write(tmp_path, "a.ris", GREEK + FRENCH)))
    assert papers == plain
    assert [paper.authors for paper in papers] == [("Γιώργος Παπαδόπουλος",), ("Hélène Lefèvre",)]
    assert not bad
    assert bool(notes) is encoding.startswith("utf-16")


@pytest.mark.parametrize(("text", "page"), [(GREEK, "cp1253"), (FRENCH, "cp1252")])
def test_b05_a_code_page_is_guessed_aloud_and_an_option_wins(tmp_path, text, page):
    path = write(tmp_path, "a.ris", text, page)
    expected, _, _ = parted(read_papers(write(tmp_path, "b.ris", text)))
    guessed, _, notes = parted(read_papers(path))
    told, _, silent = parted(read_papers(path, encoding=page))
    assert [p.title for p in guessed] == [p.title for p in told] == [p.title for p in expected]
    assert page in notes[0].text
    assert "--encoding" in notes[0].text
    assert not silent


def test_b05_damaged_bytes_are_named_by_offset_and_lose_one_record(tmp_path):
    good = '{"title": "Größe und Maß der Bäume"}\n'.encode()
    path = write(tmp_path, "a.jsonl", good + b'{"title": "x\xffy"}\n' + good)
    papers, bad, _ = parted(read_papers(path))
    assert len(papers) == 2
    assert (bad[0].file, bad[0].line) == ("a.jsonl", 2)
    assert f"byte 0xFF at offset {len(good) + 12} is not 'utf-8'" in bad[0].reason


def test_a_byte_outside_the_named_encoding_is_a_bad_record(tmp_path):
    path = write(tmp_path, "a.jsonl", b'{"title": "ab\x81"}\n{"title": "Caf\xe9"}\n')
    papers, bad, _ = parted(read_papers(path, encoding="cp1252"))
    assert [paper.title for paper in papers] == ["Café"]
    assert "0x81 at offset 13" in bad[0].reason


@pytest.mark.parametrize("name", ["nonsense", "rot13", "hex"])
def test_an_unknown_encoding_is_refused(tmp_path, name):
    with pytest.raises(RecordError, match=f"no encoding '{name}'"):
        read_papers(write(tmp_path, "a.jsonl", "{}"), encoding=name)


def test_broken_utf16_is_named_by_place(tmp_path):
    path = write(tmp_path, "a.ris", GREEK.encode("utf-16") + b"\x00\xd8\x41")
    with pytest.raises(RecordError, match=r"not 'utf-16' from about byte [\d,]+ on"):
        list(read_papers(path))


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "is empty"),
        (b" \n\n ", "is empty"),
        (b"%PDF-1.7 text that follows", "is a binary file"),
        (b"PK\x03\x04 docx", "is a binary file"),
        (b"\x00\x01\x02\x03" * 50, "is a binary file"),
    ],
)
def test_a_file_without_text_is_refused_at_once(tmp_path, content, match):
    with pytest.raises(RecordError, match=match):
        read_papers(write(tmp_path, "a.ris", content))


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(RecordError, match=r"There is no file .*gone\.bib"):
        read_papers(tmp_path / "gone.bib")


def test_a_file_that_vanishes_after_opening_is_reported(tmp_path):
    path = write(tmp_path, "a.jsonl", '{"title": "A"}')
    items = read_papers(path)
    path.unlink()
    with pytest.raises(RecordError, match="There is no file"):
        list(items)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(RecordError, match="is a folder"):
        read_papers(tmp_path)


def test_a_pipe_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe.ris")
    with pytest.raises(RecordError, match="not a regular file"):
        read_papers(tmp_path / "pipe.ris")


def test_a_file_that_may_not_be_read_is_refused(tmp_path, monkeypatch):
    path = write(tmp_path, "a.ris", GREEK)

    def refuse(self, *args, **kwargs):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(type(path), "open", refuse)  # root may read everything
    with pytest.raises(RecordError, match="may not be read by this user"):
        read_papers(path)


def test_a_path_with_a_nul_is_refused(tmp_path):
    with pytest.raises(RecordError, match="cannot be read"):
        read_papers(tmp_path / "a\0.ris")


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (GREEK, "title"),
        ("% x\n@article{k, title={A}}", "title"),
        ('{"title": "A"}\n{"title": "B"}', "title"),
        ('[{"title": "A"}]', "title"),
        ("Heading\n\nA. Author, B. Author\n\n" + "word " * 30 + ".\n", "abstract"),
    ],
    ids=["ris", "bibtex", "jsonl", "array", "listing"],
)
def test_the_format_is_told_by_the_beginning(tmp_path, text, field):
    papers, _, _ = parted(read_papers(write(tmp_path, "export.txt", text)))
    assert getattr(papers[0], field)


def test_an_unknown_format_is_refused_and_names_the_known(tmp_path):
    with pytest.raises(RecordError, match=r"--format NAME \(one of .*bibtex.*ris"):
        read_papers(write(tmp_path, "a.txt", "Dear all,\nsee you soon."))


def test_a_named_format_wins_over_the_ending(tmp_path):
    path = write(tmp_path, "a.bib", GREEK)
    assert len(list(read_papers(path, format="ris"))) == 1
    with pytest.raises(SettingsError, match="no reader 'nonsense'"):
        read_papers(path, format="nonsense")


def test_a_compressed_file_is_read(tmp_path):
    path = write(tmp_path, "papers.ris.gz", gzip.compress(GREEK.encode()))
    papers, _, _ = parted(read_papers(path))
    assert papers[0].source.file == "papers.ris.gz"
    assert papers[0].title.startswith("Μελέτη")


def test_a_cut_compressed_file_gives_what_came_before(tmp_path):
    line = json.dumps({"title": "A title"}) + "\n"
    noise = os.urandom(200_000).hex()
    whole = gzip.compress(f'{line * 100}{{"title": "{noise}"}}\n'.encode())
    items = read_papers(write(tmp_path, "a.jsonl.gz", whole[: len(whole) // 2]))
    got = []
    with pytest.raises(RecordError, match="damaged"):
        got.extend(items)
    assert len(got) == 100


def test_a_decompression_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("rag.readers.source._SMALL_EXPANSION", 1_000_000)
    bomb = gzip.compress(b"\n" * 500 + b"a" * 20_000_000)
    with pytest.raises(RecordError, match="decompresses to more than"):
        list(read_papers(write(tmp_path, "a.jsonl.gz", bomb)))


def test_an_endless_line_is_one_bad_record(tmp_path):
    path = write(
        tmp_path, "a.jsonl", b'{"title": "' + b"x" * (LONGEST_LINE * 3) + b'"}\n{"title": "B"}'
    )
    papers, bad, _ = parted(read_papers(path))
    assert [(paper.title, paper.source.line) for paper in papers] == [("B", 2)]
    assert bad == [
        BadRecord("a.jsonl", 1, "the line is longer than 10 MB. One record a line was expected.")
    ]


def test_an_endless_line_of_bibtex_refuses_the_file(tmp_path):
    path = write(tmp_path, "a.bib", b"@misc{k, title={" + b"x" * (LONGEST_LINE + 1) + b"}}")
    with pytest.raises(RecordError, match=r"a line longer than 10 MB \(line 1\)"):
        list(read_papers(path))


@pytest.mark.parametrize("name", ["a.bib", "a.json"])
def test_a_large_file_of_one_piece_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.setattr(
        f"rag.readers.{'bibtex' if name == 'a.bib' else 'source'}.LARGEST_WHOLE", 100
    )
    path = write(tmp_path, name, '[{"title": "A"},\n' + " \n" * 100 + "]")
    with pytest.raises(RecordError, match=r"read in one piece\. Split it"):
        list(read_papers(path))


def test_papers_keep_where_they_came_from_and_what_the_file_held(tmp_path):
    raw = r"We \textbf{grow}  plants\x00.".replace(r"\x00", "\0")
    path = write(tmp_path, "a.jsonl", "\n" + json.dumps({"_id": "k1", "abstract": raw}))
    (paper,), _, _ = parted(read_papers(path))
    assert (paper.source.file, paper.source.line, paper.source.key) == ("a.jsonl", 2, "k1")
    assert paper.abstract == "We grow plants."
    assert paper.raw_abstract == raw.replace("\0", "")
    assert paper.id.startswith("text:")


def test_equal_records_get_equal_ids_wherever_they_stand(tmp_path):
    first, _, _ = parted(read_papers(write(tmp_path, "a.ris", FRENCH + GREEK)))
    second, _, _ = parted(read_papers(write(tmp_path, "b.ris", GREEK + FRENCH)))
    assert {paper.id for paper in first} == {paper.id for paper in second}
    assert len({paper.id for paper in first}) == 2
    assert all(
        dataclasses.replace(a, source=b.source) == b
        for a, b in zip(first, second[::-1], strict=True)
    )


def test_a_new_reader_is_one_module_and_one_line(tmp_path, monkeypatch):
    (tmp_path / "plain_titles.py").write_text(
        "from rag.readers.records import to_paper\n"
        "from rag.readers.source import Reader\n"
        "from rag.schema import Source\n"
        "def records(file):\n"
        "    for line in file.lines():\n"
        "        yield to_paper({'title': line.text}, Source(file.name, line.number))\n"
        "read = Reader(records, extensions=('.titles',))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(BUILTIN["reader"], "titles", "plain_titles:read")
    papers, _, _ = parted(read_papers(write(tmp_path, "a.titles", "One title\nTwo titles\n")))
    assert [paper.title for paper in papers] == ["One title", "Two titles"]
