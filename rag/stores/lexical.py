"""Terms in a Tantivy index: BM25 with English stems over titles, abstracts and short fields."""

import math
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import tantivy

from ..errors import IndexMismatchError
from ..schema import Paper
from .stopwords import STOPWORDS

ANALYZER = "citewell_en"
WRITER_BYTES = 64_000_000
FIELDS = (("text", 1.0), ("meta", 0.5))  # field and weight: short fields help, but do not decide
MAX_AUTHORS = 100  # of a long author list; more would only cost room
_CJK = re.compile(r"([\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])")
_PUNCTUATION = re.compile(r"[\W_]+")
_ASCII_COMPOUND = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]++(?:[-_+^./]{1,2}[A-Za-z0-9]++)+")
_COMPOUND = re.compile(r"(?<![^\W_])[^\W_]++(?:[-_+^.·/]{1,2}[^\W_]++)+")


def searchable(text: str) -> str:
    """Return a text as its words are indexed and searched.

    Compatibility forms are unified (``²`` is ``2``), Chinese and Japanese characters stand alone,
    and a compound such as ``Chain-of-Glimpse`` also stands joined, so that names match exactly.
    """
    if text.isascii():
        plain, compound = text, _ASCII_COMPOUND
    else:
        plain = _CJK.sub(r" \1 ", unicodedata.normalize("NFKC", _sound(text)))
        compound = _COMPOUND
    joined = [_PUNCTUATION.sub("", word) for word in _compounds(compound, plain)]
    return " ".join([plain, *joined])


def _compounds(pattern: re.Pattern[str], text: str) -> list[str]:
    """Return what a pattern finds; words without a joiner, which are most, are passed over."""
    marked = [word for word in text.split() if not word.isalnum()]
    joined = [word for word in marked if not word.strip(string.punctuation).isalnum()]
    return pattern.findall(" ".join(joined))


def _sound(text: str) -> str:
    """Return a text without lone surrogates, which UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode()


def build_analyzer() -> Any:
    """Return the analyzer: words, lower case, no accents, no function words, stems."""
    return (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(64))
        .filter(tantivy.Filter.lowercase())
        .filter(tantivy.Filter.ascii_fold())
        .filter(tantivy.Filter.custom_stopword(sorted(STOPWORDS)))
        .filter(tantivy.Filter.stemmer("english"))
        .build()
    )


class TermStore:
    """One library's lexical index, one document a paper.

    Any number of processes may read it while one writes.

    Args:
        folder: Tantivy's folder; created when missing, its parent is not.

    Raises:
        IndexMismatchError: The folder is damaged, holds another index, or cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._analyzer = build_analyzer()
        with self._told():
            folder.mkdir(exist_ok=True)  # not the library's, which may be gone
            self._index = tantivy.Index(_schema(), path=str(folder), reuse=True)
            self._index.register_tokenizer(ANALYZER, self._analyzer)
            self._index.config_reader(reload_policy="Manual")  # no thread that watches the folder
        self._read_at: tuple[int, int, int] | None = None

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn what Tantivy says of its files and the disk into a plain sentence."""
        try:
            yield
        except (ValueError, OSError) as exc:
            raise IndexMismatchError(
                f"The lexical index at '{self.folder}' cannot be used: {str(exc)[:200]}. The "
                "papers are safe in the catalogue. Look for room and permission on the disk, then "
                "rebuild, which embeds nothing: citewell rebuild"
            ) from exc

    def terms(self, text: str) -> list[str]:
        """Return the indexed terms of a text, in order, repeats included."""
        return list(self._analyzer.analyze(searchable(text)))

    def write(self, papers: Iterable[Paper], *, forget: Sequence[str] = ()) -> int:
        """Index papers, replacing earlier versions, and drop others, in one commit.

        Returns:
            How many papers were written.

        Raises:
            IndexMismatchError: The folder is damaged, or the disk is full; nothing was committed.
        """
        with self.writing() as writer:
            writer.forget(forget)
            count = writer.put(papers)
            writer.commit()
        return count

    def rewrite(self, papers: Iterable[Paper]) -> int:
        """Index these papers and no others, in one commit: readers see the old ones until then.

        Returns:
            How many papers were written.

        Raises:
            IndexMismatchError: The folder is damaged, or the disk is full; nothing was committed.
        """
        with self.writing() as writer:
            writer.forget_all()
            count = writer.put(papers)
            writer.commit()
        return count

    @contextmanager
    def writing(self) -> Iterator["TermWriter"]:
        """Yield a writer; what it was given and has not committed is dropped at the end.

        Raises:
            IndexMismatchError: The folder is damaged, or the disk is full.
        """
        with self._told():
            writer = self._index.writer(heap_size=WRITER_BYTES, num_threads=1)
        try:
            with self._told():
                writer.garbage_collect_files()  # a killed writer's file would be in the way
            yield TermWriter(writer, self._told)
        finally:  # a writer that is kept would keep Tantivy's lock
            with self._told():
                writer.wait_merging_threads()

    def count(self) -> int:
        """Return how many papers are indexed."""
        return int(self._searcher().num_docs)

    def ids(self) -> set[str]:
        """Return the ids of all indexed papers."""
        searcher = self._searcher()
        most = max(1, searcher.num_docs)
        with self._told():
            hits = searcher.search(tantivy.Query.all_query(), most, count=False).hits
            return {searcher.doc(address)["id"][0] for _, address in hits}

    def search(
        self, query: str, limit: int, *, allowed: Sequence[str] | None = None
    ) -> list[tuple[str, float]]:
        """Return the papers whose words match best.

        Args:
            query: Plain text; no character of it is syntax.
            limit: At most so many.
            allowed: Only these paper ids; None means all.

        Returns:
            (paper id, BM25 score > 0), best first; empty when no word of the query is indexed.
        """
        wanted = Counter(self.terms(query))
        if not wanted or (allowed is not None and not allowed):
            return []
        searcher = self._searcher()
        tree = self._query(wanted)
        if allowed is not None:
            tree = self._within(tree, allowed)
        with self._told():
            hits = searcher.search(tree, limit, count=False).hits
            return [(searcher.doc(address)["id"][0], float(score)) for score, address in hits]

    def _query(self, wanted: Counter[str]) -> Any:
        """Build an OR of the terms over the weighted fields."""
        schema = self._index.schema
        parts = [
            (
                tantivy.Occur.Should,
                tantivy.Query.boost_query(
                    tantivy.Query.term_query(schema, field, term, "freq"), weight * times
                ),
            )
            for term, times in wanted.items()
            for field, weight in FIELDS
        ]
        return tantivy.Query.boolean_query(parts)

    def _within(self, tree: Any, allowed: Sequence[str]) -> Any:
        """Restrict a query to some papers without changing its scores."""
        ids = tantivy.Query.term_set_query(self._index.schema, "id", list(allowed))
        subset = tantivy.Query.const_score_query(ids, 0.0)
        return tantivy.Query.boolean_query(
            [(tantivy.Occur.Must, tree), (tantivy.Occur.Must, subset)]
        )

    def weights(self, terms: Iterable[str]) -> dict[str, float]:
        """Return term → inverse document frequency over titles and abstracts.

        ``ln(1 + (N - n + 0.5) / (n + 0.5))``, BM25's own (Robertson and Zaragoza 2009), which is
        greatest for a term that no paper holds.
        """
        searcher = self._searcher()
        total = searcher.num_docs
        found = {}
        for term in set(terms):
            found[term] = _weight(searcher.doc_freq("text", term), total)
        return found

    def holders(self, terms: Iterable[str]) -> dict[str, int]:
        """Return indexed term → how many papers hold it, for those that any paper holds."""
        searcher = self._searcher()
        counts = {
            term: max(int(searcher.doc_freq(field, term)) for field, _ in FIELDS)
            for term in set(terms)
        }
        return {term: count for term, count in counts.items() if count}

    def stem(self, word: str) -> str | None:
        """Return the indexed term of one plain word; None for a function word."""
        return next(iter(self._analyzer.analyze(word)), None)

    def terms_like(self, prefix: str) -> list[tuple[str, int]]:
        """Return (term, papers that hold it) for the terms of the abstracts that begin so.

        Empty where the installed Tantivy cannot walk its terms.
        """
        with self._told():
            walk = getattr(self._searcher(), "terms_with_prefix", None)
            return list(walk("text", prefix)) if walk else []

    def with_term(self, term: str, limit: int) -> list[str]:
        """Return the ids of a few papers whose title or abstract holds an indexed term."""
        searcher = self._searcher()
        query = tantivy.Query.term_query(self._index.schema, "text", term, "freq")
        with self._told():
            hits = searcher.search(query, limit, count=False).hits
            return [searcher.doc(address)["id"][0] for _, address in hits]

    @property
    def heaviest(self) -> float:
        """Return the weight of a term that no paper holds; above 0."""
        return _weight(0, max(1, self._searcher().num_docs))

    def _searcher(self) -> Any:
        """Return a searcher of what was committed last, in whichever process."""
        with self._told():
            state = _commit_in(self.folder)
            if state is None or state != self._read_at:
                self._index.reload()
                self._read_at = state
            return self._index.searcher()


class TermWriter:
    """Writes papers to a lexical index; Tantivy works in a thread of its own."""

    def __init__(self, writer: Any, told: Callable[[], AbstractContextManager[None]]) -> None:
        self._writer = writer
        self._told = told

    def put(self, papers: Iterable[Paper]) -> int:
        """Take papers in place of their earlier versions and return how many there were."""
        count = 0
        with self._told():
            for paper in papers:
                self._writer.delete_documents_by_term("id", paper.id)
                self._writer.add_document(_document(paper))
                count += 1
        return count

    def forget(self, ids: Iterable[str]) -> None:
        """Drop papers."""
        with self._told():
            for paper_id in ids:
                self._writer.delete_documents_by_term("id", paper_id)

    def forget_all(self) -> None:
        """Drop every paper."""
        with self._told():
            self._writer.delete_all_documents()

    def commit(self) -> None:
        """Let readers see what was given until now."""
        with self._told():
            self._writer.commit()


def _schema() -> Any:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
    for name, _ in FIELDS:
        builder.add_text_field(name, stored=False, tokenizer_name=ANALYZER, index_option="freq")
    return builder.build()


def _commit_in(folder: Path) -> tuple[int, int, int] | None:
    """Return what tells one commit from another, the file that each puts in place; None without."""
    try:
        found = (folder / "meta.json").stat()
    except OSError:
        return None
    return (found.st_ino, found.st_mtime_ns, found.st_size)


def _weight(holders: int, total: int) -> float:
    """Return a term's inverse document frequency as BM25 defines it."""
    return math.log(1 + (total - holders + 0.5) / (holders + 0.5))


def _document(paper: Paper) -> Any:
    meta = [*paper.authors[:MAX_AUTHORS], paper.topic, paper.venue, *paper.keywords]
    return tantivy.Document(
        id=[paper.id],
        text=[searchable(f"{paper.title}\n{paper.abstract}")],
        meta=[searchable("; ".join(part for part in meta if part))],
    )
