"""Pictures of the page: PNG files that others read as they were meant."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from matplotlib import image

from goldless.report.png import encode_png

PICTURES = st.tuples(st.integers(1, 9), st.integers(1, 9)).flatmap(lambda size: arrays(np.uint8, (*size, 4)))


@given(PICTURES)
def test_a_reader_finds_the_dots_that_were_written(pixels):
    read = image.imread(io.BytesIO(encode_png(pixels)), format="png")
    np.testing.assert_array_equal(np.round(read * 255), pixels)


def test_a_part_of_a_picture_is_written_as_it_is_seen():
    pixels = np.arange(6 * 8 * 4, dtype=np.uint8).reshape(6, 8, 4)
    part = pixels[::2, ::-1]
    assert encode_png(part) == encode_png(part.copy())


@pytest.mark.parametrize("shape", [(3, 3), (3, 3, 3), (0, 3, 4)])
def test_what_is_no_picture_is_refused(shape):
    with pytest.raises(ValueError, match="shape"):
        encode_png(np.zeros(shape, dtype=np.uint8))
    with pytest.raises(ValueError, match="float64"):
        encode_png(np.zeros((3, 3, 4)))
