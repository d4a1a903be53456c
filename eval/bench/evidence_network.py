"""The evidence model as a PyTorch module, for training only; the product reads without torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rag.errors import SettingsError
from rag.evidence_model import FROZEN, Batch


def network(folder: Path, *, hidden: int = 128) -> Any:
    """Return the untrained PyTorch module: MiniLM of a folder with heads for our two scores."""
    import torch
    from safetensors.torch import load_file
    from torch import nn
    from transformers import AutoConfig, BertModel

    class Network(nn.Module):
        """MiniLM, a head that scores pooled sentences, and one for the page."""

        def __init__(self) -> None:
            super().__init__()
            config = AutoConfig.from_pretrained(
                str(folder), local_files_only=True, trust_remote_code=False
            )
            self.body = BertModel(config, add_pooling_layer=False)
            stored = load_file(str(folder / "model.safetensors"))
            self.body.load_state_dict(stored, strict=False)  # the pooling layer is not used
            width = int(self.body.config.hidden_size)
            self.sentence = nn.Sequential(
                nn.Linear(2 * width + 1, hidden), nn.GELU(), nn.Linear(hidden, 1)
            )
            self.near = nn.Parameter(torch.tensor(6.0))
            self.page = nn.Sequential(
                nn.Linear(2 * width + 2, hidden), nn.GELU(), nn.Linear(hidden, 1)
            )

        def forward(self, ids: Any, types: Any, mask: Any, pool: Any, asked: Any) -> Any:
            """Return sentence logits ``(rows, sentences)`` and page logits ``(rows,)``."""
            tokens = self.body(
                input_ids=ids, token_type_ids=types, attention_mask=mask
            ).last_hidden_state
            pooled = torch.bmm(pool, tokens)
            question = torch.bmm(asked.unsqueeze(1), tokens)
            near = torch.cosine_similarity(pooled, question, dim=-1).unsqueeze(-1)
            seen = torch.cat([pooled, pooled * question, near], dim=-1)
            logits = (self.sentence(seen) + self.near * near).squeeze(-1)
            empty = pool.sum(-1) == 0
            logits = logits.masked_fill(empty, -1e4)
            best, at = logits.max(dim=1)
            rows = torch.arange(len(at))
            whole = torch.cat(
                [
                    tokens[:, 0],
                    pooled[rows, at] * question[:, 0],
                    best.unsqueeze(-1),
                    near[rows, at],
                ],
                dim=-1,
            )
            return logits, self.page(whole).squeeze(-1)

    return Network()


def run(module: Any, batch: Batch) -> tuple[Any, Any]:
    """Call the module on a batch."""
    import torch

    parts = (batch.ids, batch.types, batch.mask, batch.pool, batch.asked)
    logits, answers = module(*(torch.from_numpy(part) for part in parts))
    return logits, answers


def save(module: Any, weights: Path, card: Mapping[str, str]) -> None:
    """Write the trained part of a module as half floats, with its card as the file's metadata."""
    from safetensors.torch import save_file

    trained = {
        name: value.half().contiguous()
        for name, value in module.state_dict().items()
        if not name.startswith(FROZEN)
    }
    save_file(trained, str(weights), metadata=dict(card))


def load(module: Any, weights: Path) -> None:
    """Read the trained part into a module.

    Raises:
        SettingsError: The file is missing, damaged or of another model.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        trained = {name: value.float() for name, value in load_file(str(weights)).items()}
        missing, foreign = module.load_state_dict(trained, strict=False)
    except (OSError, SafetensorError, RuntimeError) as exc:
        raise SettingsError(
            f"The evidence model '{weights.name}' cannot be read: {str(exc)[:200]}. The file is "
            "damaged or of another version. Install Citewell again."
        ) from exc
    lacking = [name for name in missing if not name.startswith(FROZEN)]
    if lacking or foreign:
        raise SettingsError(
            f"The evidence model '{weights.name}' does not fit: {(lacking + list(foreign))[0]!r}. "
            "It was made for another model. Install Citewell again."
        )
