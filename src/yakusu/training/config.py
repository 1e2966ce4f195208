"""Settings of training, with the paper's defaults (section 5), and of the model to start from."""

from typing import Literal, get_args

from yakusu.config import Config, requirement
from yakusu.typed import setting

TrainingEngine = Literal["torch", "native"]
Frozen = Literal["embeddings", "encoder", "decoder"]


class TrainingConfig(Config):
    """The section [training] of a recipe."""

    warmup_steps: int = setting(4000, ge=1)
    lr_scale: float = setting(1.0, gt=0)  # factor of Eq. 3
    adam_beta1: float = setting(0.9, ge=0, lt=1)
    adam_beta2: float = setting(0.98, ge=0, lt=1)
    adam_epsilon: float = setting(1e-9, gt=0)
    label_smoothing: float = setting(0.1, ge=0, lt=1)  # epsilon_ls
    r_drop: float = setting(0.0, ge=0)  # alpha of R-Drop, which passes each batch twice; 0: off
    bpe_dropout: float = setting(0.0, ge=0, lt=1)  # p of BPE-dropout; 0: off
    clip_norm: float = setting(0.0, ge=0)  # 0: no gradient clipping
    precision: Literal["auto", "fp32", "bf16"] = "auto"  # auto: bf16 autocast on a GPU
    threads: int = setting(0, ge=0)  # on the CPU; 0: as many as torch chooses
    compile: Literal["auto", "yes", "no"] = "auto"  # auto: torch.compile on a GPU
    device: str = "auto"  # auto: a GPU if there is one
    max_steps: int = setting(100_000, ge=1)
    max_epochs: float = setting(0.0, ge=0)  # 0: no limit
    max_hours: float = setting(0.0, ge=0)  # 0: no limit
    patience: int = setting(0, ge=0)  # stop after so many validations without a new best; 0: never
    validate_steps: int = setting(1000, ge=1)  # validate and keep a checkpoint this often
    keep_last: int = setting(5, ge=1)  # number of these checkpoints to keep and average
    ema_decay: float = setting(0.0, ge=0, lt=1)  # of the moving average of the weights; 0: none
    checkpoint_minutes: float = setting(10.0, ge=0)  # save additionally this often; 0: never
    checkpoint_steps: int = setting(0, ge=0)  # save additionally this often; 0: never
    best_by: Literal["score", "perplexity"] = "score"  # dev score: BLEU, or F1 for a parser
    engine: TrainingEngine = (
        "torch"  # translates the dev set; "native": the compiled engine, on the CPU
    )
    log_steps: int = setting(50, ge=1)
    max_skipped: int = setting(20, ge=0)  # steps that may be skipped for a non-finite gradient
    max_failed_saves: int = setting(3, ge=1)  # failed saves in a row before training stops
    stall_minutes: float = setting(10.0, gt=0)  # how long processes wait for each other
    sharded: bool = False  # each process holds a shard of the weights (FSDP2), not a copy

    def precision_on(self, device: str) -> Literal["fp32", "bf16"]:
        """Return `precision`, or the default for a device type ("cpu", "cuda")."""
        if self.precision == "auto":
            return "fp32" if device == "cpu" else "bf16"
        return self.precision


class ParentConfig(Config):
    """Section [parent] of a recipe: the model whose weights training starts from."""

    model: str = ""  # model folder; empty: random weights
    required: bool = False  # refuse to start from random weights
    sha256: str = ""  # of its weights, set when the run starts
    vocabulary: Literal["keep", "learn"] = "keep"  # learn: shared pieces keep their vectors
    freeze: tuple[Frozen, ...] = ()  # parts that keep their weights
    mix: float = setting(0.0, ge=0, lt=1)  # share of the training pairs from the parent's corpus

    @requirement
    def _check_model(self) -> None:
        if self.required and not self.model:
            raise ValueError("this recipe trains a model further: add --from MODEL")
        given = self.sha256, self.vocabulary, self.freeze, self.mix
        if not self.model and given != ("", "keep", (), 0.0):
            raise ValueError(
                "the keys of parent have no effect without a model: set parent.model (--from)"
            )
        if len(set(self.freeze)) == len(get_args(Frozen)):
            raise ValueError("parent.freeze leaves nothing to train: remove a part from it")
