"""Function for `hpo_envs.tune` that trains Hugging Face's `Trainer`, paused and resumed between evaluations."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hpo_envs.tables.checks import extra_module

STATE = "trainer_state.json"
"""File that a `Trainer` writes last in a checkpoint."""


class Trained:
    """Function for `tune(..., epochs=E)` that trains a `Trainer` up to a number of evaluations.

    Each evaluation of the `Trainer` (`eval_strategy="epoch"` or `"steps"`) is one fidelity: after the last requested
    one, training stops with a checkpoint, and its metrics are returned. A configuration that the agent promotes
    continues from that checkpoint, in any worker and after any interruption; others are not trained further. Length and
    schedule of a training are those of the `TrainingArguments`, regardless of the fidelity.

    Args:
        make: `make(config, folder)` returns a `Trainer` with `output_dir=folder` in its arguments; a function of a
            module, so that workers can import it.

    Examples:
        >>> tune(Trained(make), SPACE, epochs=3, objective="eval_loss", goal="min", out="mine/")  # doctest: +SKIP
    """

    def __init__(self, make: Callable[[Mapping[str, Any], str], Any]) -> None:
        self.make = make
        self.__module__, self.__qualname__ = make.__module__, make.__qualname__

    def __call__(self, config: Mapping[str, Any], resume_from: Path, epochs: int) -> dict[str, float]:
        """Train until `epochs` evaluations are done; return the metrics of the last one by name.

        If the checkpoint in `resume_from` has as many evaluations, nothing is trained.

        Raises:
            ValueError: The trainer writes to another folder, or ends with fewer evaluations.
            ModuleNotFoundError: transformers is missing; the message says how to install it.
        """
        transformers = extra_module("transformers", "trainer", "trainers")

        class Pause(transformers.TrainerCallback):  # type: ignore[misc,name-defined]
            """Callback that saves and stops after the last requested evaluation."""

            def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
                if len(_evaluations(state)) >= epochs:
                    control.should_training_stop = control.should_save = True

        before = _checkpoint(Path(resume_from))
        state = before and transformers.TrainerState.load_from_json(str(before / STATE))
        if state is None or len(_evaluations(state)) < epochs:
            trainer = self.make(config, str(resume_from))
            if Path(trainer.args.output_dir).resolve() != Path(resume_from).resolve():
                raise ValueError(f"output_dir must be the folder that make is given, got {trainer.args.output_dir}")
            trainer.add_callback(Pause())
            trainer.train(resume_from_checkpoint=before and str(before))
            state = trainer.state
        found = _evaluations(state)
        if len(found) < epochs:
            raise ValueError(f"the Trainer must evaluate {epochs} times (eval_strategy=), got {len(found)}")
        return found[epochs - 1]


def _evaluations(state: Any) -> list[dict[str, float]]:
    """Return the logged metrics of each evaluation in a `TrainerState`, in order."""
    return [log for log in state.log_history if any(name.startswith("eval_") for name in log)]


def _checkpoint(folder: Path) -> Path | None:
    """Return the folder of the last complete checkpoint of a `Trainer`; None without one."""
    whole = [path.parent for path in folder.glob(f"checkpoint-*/{STATE}")]
    return max(whole, key=lambda path: int(path.name.rpartition("-")[2]), default=None)
