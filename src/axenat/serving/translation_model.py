"""What MLflow loads and serves. It keeps a copy of this file, and of the package, beside the weights.

MLflow executes that copy, so there is nothing here but the step from its words to ours.
"""

from pathlib import Path

from mlflow.exceptions import MlflowException
from mlflow.models import set_model
from mlflow.protos.databricks_pb2 import INVALID_PARAMETER_VALUE
from mlflow.pyfunc import PythonModel, PythonModelContext

from axenat.files import UserError
from axenat.serving.service import Limits, TranslationService


class RefusedRequest(MlflowException):  # type: ignore[misc]  # its kind decides that the answer is 400 Bad Request
    """Keeps its one sentence: the scoring server writes the whole request before it, however large that is."""

    def __init__(self, sentence: str) -> None:
        self.sentence = sentence
        super().__init__(sentence, error_code=INVALID_PARAMETER_VALUE)

    @property
    def message(self) -> str:
        return self.sentence

    @message.setter
    def message(self, longer: str) -> None:
        pass


class TranslationModel(PythonModel):  # type: ignore[misc]  # MLflow asks for this base
    """Plain text in, translations out; lambda, ell and the vocabulary are among the artifacts."""

    def load_context(self, context: PythonModelContext) -> None:
        folder = Path(context.artifacts["config.yaml"]).parent
        self.service = TranslationService(folder, Limits(**(context.model_config or {})))

    def predict(self, context: PythonModelContext, model_input: list[str]) -> list[str]:
        try:
            return self.service.answer(model_input)
        except UserError as error:
            raise RefusedRequest(str(error)) from None


set_model(TranslationModel())
