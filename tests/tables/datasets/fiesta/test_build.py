"""The tables of FIESTA and the measured numbers of the paper."""

from hpo_envs.tables import store
from hpo_envs.tables.datasets.fiesta import build as data
from hpo_envs.tables.frames import natural


def test_measured_tables_hold_what_paper_says() -> None:
    t = store.load("fiesta/tdsa12")
    assert t.values.shape == (12, 500, 1, 1)
    # Figure 3: TDLSTM is the state of the art; appendix A needs a unique best arm.
    assert t.keys[int(t.final("f1").argmax())] == "tdlstm"
    assert natural(store.load("fiesta/tdsa8")).keys == data.TDSA[:8]
    ner = natural(store.load("fiesta/ner"))
    assert (ner.values.shape, ((ner.values[..., 0, 0] < 0.9).sum(axis=1)).tolist()) == ((2, 750, 1, 2), [4, 0])
    # Section 2: over all splits and seeds the LSTM is the better encoder.
    assert ner.keys[int(ner.final("test_f1").argmax())] == "lstm"
