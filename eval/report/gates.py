"""Conditions a run must meet: ``--min metric=value``."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite

from rag.errors import SettingsError

from ..measures import Measure


@dataclass(frozen=True, slots=True)
class Gate:
    """The least value of a measure; the largest one where ``is_upper``."""

    metric: str
    limit: float
    is_upper: bool = False

    @property
    def text(self) -> str:
        """Return the condition as it reads: ``must_contain ≥ 0.6``."""
        return f"{self.metric} {'≤' if self.is_upper else '≥'} {self.limit:g}"


@dataclass(frozen=True, slots=True)
class GateResult:
    """Whether a run meets a gate. A measure without a value does not."""

    gate: Gate
    measure: Measure

    @property
    def passed(self) -> bool:
        """Return whether the measure has a value within the limit."""
        value = self.measure.value
        if value is None:
            return False
        return value <= self.gate.limit if self.gate.is_upper else value >= self.gate.limit

    @property
    def text(self) -> str:
        """Return one sentence: what was asked and what came out."""
        measure = self.measure
        got = "no case was scored" if measure.value is None else f"{measure.value:.4g}"
        verdict = "met" if self.passed else "not met"
        return f"{self.gate.text}: {verdict}, {got} ({measure.n} of {measure.total} cases)"


def parse_gate(text: str, *, is_upper: bool = False) -> Gate:
    """Read ``metric=value``.

    Raises:
        SettingsError: It has another form or the value is no finite number.
    """
    metric, _, value = text.rpartition("=")
    try:
        limit = float(value)
    except ValueError:
        limit = float("nan")
    if not metric.strip() or not isfinite(limit):
        raise SettingsError(
            f"{text!r} is no gate. It must be a measure, '=' and a number. "
            "Write for example: --min must_contain=0.6"
        )
    return Gate(metric.strip(), limit, is_upper)


def check_gates(gates: Iterable[Gate], measures: Sequence[Measure]) -> list[GateResult]:
    """Return the result of each gate against the measures over all cases.

    Raises:
        SettingsError: A gate names a measure that the run does not have.
    """
    overall = {measure.name: measure for measure in measures if measure.kind is None}
    results = []
    for gate in gates:
        if gate.metric not in overall:
            raise SettingsError(
                f"There is no measure {gate.metric!r}. Known: {', '.join(overall)}. "
                "Choose one of these."
            )
        results.append(GateResult(gate, overall[gate.metric]))
    return results
