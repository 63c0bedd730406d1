"""Boxes are as wide as groups are large, bands as wide as what two groups have in common, and they
meet.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmgl import plots
from rmgl.plots.bands import lay_out

CODES = st.integers(1, 5).flatmap(
    lambda columns: st.lists(
        st.tuples(*[st.integers(0, 4)] * columns), min_size=1, max_size=30
    ).map(lambda rows: [np.array(column) for column in zip(*rows, strict=True)])
)


@settings(max_examples=80)
@given(answers=CODES, data=st.data())
def test_widths_are_sizes_and_pieces_fill_their_boxes(answers, data):
    colored = data.draw(st.integers(0, len(answers) - 1))
    layout, n = lay_out(answers, colored), answers[0].size
    unit = layout.boxes[0].end - layout.boxes[0].start
    unit /= layout.boxes[0].size
    for answer, codes in enumerate(answers):
        own = [box for box in layout.boxes if box.answer == answer]
        assert {box.group: box.size for box in own} == {
            group: int((codes == group).sum()) for group in np.unique(codes)
        }
        assert min(box.start for box in own) >= -1e-9
        assert max(box.end for box in own) <= 1 + 1e-9
        for one, other in pairwise(own):
            assert one.end <= other.start + 1e-9
        for box in own:
            assert box.end - box.start == pytest.approx(unit * box.size)
            here = answers[answer] == box.group
            parts = [
                part for part in layout.parts if (part.answer, part.group) == (answer, box.group)
            ]
            assert {part.color: part.size for part in parts} == {
                color: int((here & (answers[colored] == color)).sum())
                for color in np.unique(answers[colored][here])
            }
            check_filled(box, [(part.start, part.end) for part in parts])
            out = [
                band for band in layout.bands if (band.answer, band.first) == (answer, box.group)
            ]
            into = [
                band
                for band in layout.bands
                if (band.answer, band.second) == (answer - 1, box.group)
            ]
            if answer + 1 < len(answers):
                check_filled(box, [(b.first_start, b.first_start + b.width) for b in out])
            if answer:
                check_filled(box, [(b.second_start, b.second_start + b.width) for b in into])
    for band in layout.bands:
        common = (
            (answers[band.answer] == band.first)
            & (answers[band.answer + 1] == band.second)
            & (answers[colored] == band.color)
        )
        assert band.size == common.sum()
        assert band.width == pytest.approx(unit * band.size)
    assert sum(band.size for band in layout.bands) == n * (len(answers) - 1)


def check_filled(box, pieces):
    """Pieces fill a box without overlap."""
    pieces = sorted(pieces)
    assert pieces[0][0] == pytest.approx(box.start)
    assert pieces[-1][1] == pytest.approx(box.end)
    for (_, end), (start, _) in pairwise(pieces):
        assert end == pytest.approx(start)


def test_bands_of_nested_groups_do_not_cross():
    coarse = np.array([0, 1, 0, 1, 0, 1])
    fine = np.array([3, 0, 2, 1, 3, 0])  # 3 and 2 are in 0; 0 and 1 are in 1
    bands = lay_out([coarse, fine], colored=1).bands
    bands = sorted(bands, key=lambda band: band.first_start)
    assert [band.second_start for band in bands] == sorted(band.second_start for band in bands)


def test_the_tree_is_that_of_the_hierarchy(chosen_model):
    found = plots.resolutions_data(chosen_model)
    levels = chosen_model.hierarchy_
    assert [level.n_clusters for level in found.levels] == [level.n_clusters for level in levels]
    assert levels[found.chosen].n_clusters == chosen_model.n_clusters_
    expected = {
        (coarse.n_clusters, int(one), fine.n_clusters, int(other)): int(
            ((coarse.labels == one) & (fine.labels == other)).sum()
        )
        for coarse, fine in pairwise(levels)
        for one in np.unique(coarse.labels)
        for other in np.unique(fine.labels)
    }
    splits = {
        (row["n_clusters"], row["cluster"], row["n_finer"], row["finer_cluster"]): row["members"]
        for row in found.splits()
    }
    assert splits == {key: count for key, count in expected.items() if count}


def test_the_picture_has_a_box_for_each_cluster_and_marks_the_chosen_number(chosen_model):
    from matplotlib.patches import PathPatch, Rectangle

    tree, curves = plots.plot_resolutions(chosen_model)
    found = plots.resolutions_data(chosen_model)
    frames = [patch for patch in tree.patches if isinstance(patch, Rectangle)]
    frames = [patch for patch in frames if patch.get_linewidth() > 0]
    assert [(patch.get_x(), patch.get_width()) for patch in frames] == [
        (box.start, box.end - box.start) for box in found.layout.boxes
    ]
    assert sum(isinstance(patch, PathPatch) for patch in tree.patches) == len(found.layout.bands)
    bold = [text.get_text() for text in tree.get_yticklabels() if text.get_fontweight() == "bold"]
    (name,) = bold
    assert name.startswith(f"K = {chosen_model.n_clusters_}\n")
    marked = {
        float(line.get_xdata()[0]) for line in curves.lines if len(set(line.get_xdata())) == 1
    }
    assert marked == {float(level.n_clusters) for level in found.levels}
    dotted = [line for line in curves.lines if line.get_linestyle() == ":"]
    assert [line.get_xdata()[0] for line in dotted] == [chosen_model.n_clusters_]
    assert "240 entities" in tree.get_xlabel()


def test_one_axes_is_not_enough(chosen_model):
    import matplotlib.pyplot as plt

    with pytest.raises(ValueError, match="ax is not two Axes"):
        plots.plot_resolutions(chosen_model, ax=plt.subplots()[1])


def test_without_known_parts_the_chosen_clusters_stand_alone(chosen_model):
    number = replace(chosen_model.number_, resolutions=None, parts=None)
    found = plots.resolutions_data(replace(chosen_model.fitted_, number=number))
    assert [level.n_clusters for level in found.levels] == [chosen_model.n_clusters_]
    assert found.splits() == []
    tree, _ = plots.plot_resolutions(replace(chosen_model.fitted_, number=number))
    assert len(tree.get_yticklabels()) == 1


def test_entities_that_were_placed_after_the_fit_are_not_in_the_tree(chosen_model):
    placed, number = np.array([3, 100]), chosen_model.number_
    number = replace(number, parts=np.delete(number.parts, placed, axis=1))
    model = replace(chosen_model.fitted_, placed=placed, number=number)
    found = plots.resolutions_data(model)
    assert found.n_placed == 2
    whole = plots.resolutions_data(chosen_model)
    for at, (level, other) in enumerate(zip(found.levels, whole.levels, strict=True)):
        sizes = {box.group: box.size for box in found.layout.boxes if box.answer == at}
        kept = np.delete(other.labels, placed)
        assert sizes == {group: (kept == group).sum() for group in np.unique(kept)}
        assert level.n_clusters == other.n_clusters
    tree, _ = plots.plot_resolutions(model)
    assert tree.get_xlabel().startswith("238 entities")
    assert "without 2 placed after the fit" in tree.get_xlabel()
