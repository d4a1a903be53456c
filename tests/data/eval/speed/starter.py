"""A starter for tests: LlamaIndex's interfaces, vectors of three numbers, and times of its own."""

import argparse
import json
import sys

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, TextNode


class Counting(BaseEmbedding):
    def _get_text_embedding(self, text):
        return [float(len(text)), 1.0, 0.0]

    def _get_query_embedding(self, query):
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query):
        return self._get_text_embedding(query)


class First(BaseRetriever):
    def _retrieve(self, query_bundle):
        return [NodeWithScore(node=TextNode(text="first"), score=1.0)]


parser = argparse.ArgumentParser()
parser.add_argument("model")
parser.add_argument("corpus")
parser.add_argument("--limit", type=int)
parser.add_argument("--queries")
args = parser.parse_args()
with open(args.corpus, encoding="utf-8") as lines:
    records = [json.loads(line) for line in lines][: args.limit]
Counting().get_text_embedding_batch([f"_id: {r['_id']}\n\n{r['text']}" for r in records])
sys.stdout.write("a line that is not for anybody\n")
if args.queries:
    retriever = First(callback_manager=CallbackManager([]))
    with open(args.queries, encoding="utf-8") as lines:
        for line in lines:
            retriever.retrieve(json.loads(line)["text"])
report = {"records": len(records), "add_s": 2.0}
sys.stdout.write(json.dumps(report) + "\n")
