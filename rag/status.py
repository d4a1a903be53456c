"""What a library holds and what is the matter with it, in plain sentences."""

from .index import Index
from .schema import Status


def status_of(index: Index, *, check: bool = False) -> Status:
    """Return counts and problems.

    Args:
        index: The library's index.
        check: Also compare catalogue, lexical index and Chroma, which reads all of them.
    """
    counts = index.catalogue.counts()
    problems = _pending_problems(counts)
    if check:
        problems += index.check()
    embedder = index.manifest.embedder
    return Status(
        name=index.manifest.name,
        path=str(index.folder),
        papers=counts["papers"],
        passages=counts["passages"],
        embedded=counts["embedded"],
        searchable=counts["searchable"],
        title_only=counts["title_only"],
        embedder=str(embedder["name"]),
        dim=int(embedder.get("dim", 0)),
        problems=tuple(problems),
        checked=check,
    )


def _pending_problems(counts: dict[str, int]) -> list[str]:
    waiting = counts["papers"] - counts["searchable"]
    problems = []
    if waiting:
        problems.append(f"Papers not searchable yet: {waiting}. Finish: citewell rebuild")
    if counts["updates"]:
        problems.append(
            f"Changed papers that wait for their vectors: {counts['updates']}. Their old versions "
            "answer meanwhile. Finish: citewell embed"
        )
    return problems
