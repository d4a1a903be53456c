"""Sisters of a kind: "recurrent" for "convolutional", "teachers" for "nurses". Pure."""

from collections.abc import Mapping, Sequence
from functools import cache

from . import Finding
from .reading import Text, Token
from .stems import akin, stem

# Kinds with their members; "|" joins names of one member, "-" the words of a name.
_KINDS: tuple[str, ...] = (
    "translation summarization|summarisation|summary|summarizing parsing|parser segmentation "
    "captioning question-answering|qa entity-recognition clustering retrieval reranking tracking "
    "denoising classification|classifier|classifying",
    "image|picture|photo video|clip audio|sound|music|acoustic speech|voice|spoken lidar radar "
    "tabular|table sketch|drawing",
    "decision-tree random-forest support-vector|svm nearest-neighbor|knn linear-probe|probe "
    "logistic-regression gaussian-process linear-regression|bayesian-regression gradient-boosting",
    "convolution|convolutional|cnn recurrent|rnn|lstm transformer graph-neural|gnn "
    "feedforward|mlp|perceptron diffusion autoencoder|vae adversarial-network|gan",
    "reinforcement imitation|cloning contrastive federated continual|lifelong active-learning "
    "transfer-learning meta-learning curriculum",
    "gaussian|normal laplace|laplacian poisson bernoulli dirichlet cauchy gumbel",
    "variational|variation monte-carlo|mcmc expectation-maximization|em kalman "
    "particle-filter|particle-filtering",
    "student|pupil teacher|instructor doctor|physician|clinician patient nurse child|children|kid "
    "player|gamer employee customer|consumer driver farmer lawyer journalist",
    "quadruped quadrotor|drone|uav humanoid manipulator|arm car|vehicle submarine boat|ship",
    "fairness|fair privacy|private toxicity|toxic uncertainty interpretability|interpretable|"
    "explainability|explainable calibration|calibrated",
    "brain|neural|cortical heart|cardiac lung|pulmonary liver|hepatic kidney|renal skin|dermal "
    "retina|retinal breast bone blood",
    "mri|fmri ct x-ray ultrasound eeg ecg pet",
    "auction voting|election|vote bargaining matching|match",
    "semantic-parsing machine-translation speech-recognition",
    "summer winter spring autumn",
    "metaphor sarcasm|irony humor|humour sentiment",
    "math|mathematical|mathematics|arithmetic temporal|time spatial|space causal|causality",
    "monday tuesday wednesday thursday friday saturday sunday",
    "reddit twitter facebook youtube wikipedia github",
)


def compare_kinds(statement: Text, source: Text, around: Sequence[Text] = ()) -> list[Finding]:
    """Look for a member of a kind that is nowhere while the source has one that was not taken over.

    Args:
        statement: What was said.
        source: The sentences it rests on.
        around: Title and abstract of their papers, and the question.

    Returns:
        At most one wrong finding.
    """
    mine, theirs = _members(statement), _members(source)
    known = {member for text in (source, *around) for member in _members(text)}
    for (kind, member), said in mine.items():
        if (kind, member) in known:
            continue
        rivals = (name for (k, m), name in theirs.items() if k == kind and (k, m) not in mine)
        rival = next(rivals, None)
        if rival is not None:
            return [Finding(f"says “{said}”, the source says “{rival}”")]
    return []


def _members(text: Text) -> dict[tuple[int, int], str]:
    """Return the members that a text names, as kind and member, with the words that name them."""
    words = [token for token in text.tokens if token.text != "-"]
    found: dict[tuple[int, int], str] = {}
    for place, token in enumerate(words):
        for kind, member, names in _by_first().get(token.stem, ()):
            behind = words[place + 1 : place + 1 + len(names)]
            if len(behind) == len(names) and all(
                akin(one.stem, name) for one, name in zip(behind, names, strict=True)
            ):
                found.setdefault((kind, member), _shown([token, *behind]))
    return found


def _shown(tokens: Sequence[Token]) -> str:
    return " ".join(token.text for token in tokens)


@cache
def _by_first() -> Mapping[str, list[tuple[int, int, tuple[str, ...]]]]:
    """Return for the stem of a name's first word: kind, member, and the stems of the rest."""
    found: dict[str, list[tuple[int, int, tuple[str, ...]]]] = {}
    for kind, members in enumerate(_KINDS):
        for member, names in enumerate(members.split()):
            for name in names.split("|"):
                first, *rest = map(stem, name.split("-"))
                found.setdefault(first, []).append((kind, member, tuple(rest)))
    return found
