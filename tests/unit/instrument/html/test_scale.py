from instrument.html.scale import Scale


def test_time_without_long_breaks_is_in_proportion() -> None:
    scale = Scale([(100, 150), (150, 180), (190, 200)])

    assert [scale.at(time) for time in (100, 150, 185, 190, 200)] == ["0%", "50%", "85%", "90%", "100%"]
    assert scale.between(150, 180) == "30%"
    assert scale.folds == ()


def test_a_long_break_is_folded_to_a_fixed_length_and_says_how_long_it_was() -> None:
    # Busy 50 and 50: a break of more than 20 is folded to 4, so that the line is 104 long.
    scale = Scale([(0, 50), (1050, 1100)])

    (fold,) = scale.folds
    assert (fold.length_ns, fold.x, fold.width) == (1000, "48.077%", "3.846%")
    assert (scale.at(50), scale.at(1050), scale.at(1100)) == ("48.077%", "51.923%", "100%")
    assert scale.at(550) == "50%"


def test_a_time_outside_of_the_line_is_at_its_nearer_end() -> None:
    scale = Scale([(10, 20)])

    assert (scale.at(3), scale.at(99)) == ("0%", "100%")


def test_a_moment_alone_has_no_length() -> None:
    scale = Scale([(5, 5)])

    assert (scale.at(5), scale.between(5, 5), scale.folds) == ("0%", "0%", ())
