"""A language model that speaks for a minute, and keeps count of how many answers it is at."""

import time

from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
from llama_index.core.llms.custom import CustomLLM

BUSY = []


class SlowLLM(CustomLLM):
    """Says a word every fifth of a second; ``BUSY`` holds an entry for every answer at work."""

    @property
    def metadata(self):
        return LLMMetadata(model_name="slow", context_window=4096, num_output=256)

    def complete(self, prompt, formatted=False, **kwargs):
        return CompletionResponse(text="slow")

    def stream_complete(self, prompt, formatted=False, **kwargs):
        def words():
            BUSY.append(1)
            try:
                text = ""
                for number in range(300):
                    text += f"word{number} "
                    yield CompletionResponse(text=text, delta=f"word{number} ")
                    time.sleep(0.2)
            finally:
                BUSY.pop()

        return words()


def build(argument, settings):
    return SlowLLM()
