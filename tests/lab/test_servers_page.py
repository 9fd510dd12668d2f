"""The page of servers: what is run again replaces what was there, and everything else stays."""

from support import servers_page

HEAD = "# Page\n\n" + servers_page.MARK + "| step |\n| --- |\n"
ORDER = ("site", "seed")


def page(*written):
    text = HEAD
    for server, outcomes in written:
        text = servers_page.replaced(text, server, outcomes, ORDER)
    return text


def test_a_step_that_is_run_again_replaces_its_own_cell_alone():
    text = page(
        ("5.7.23", {"site": "passed, 60 s", "seed": "failed: no"}),
        ("5.5.62", {"site": "passed, 50 s"}),
        ("5.7.23", {"seed": "passed, 30 s"}),
    )
    assert text == "# Page\n\n" + servers_page.MARK + (
        "| step | 5.5.62 | 5.7.23 |\n"
        "| --- | --- | --- |\n"
        "| site | passed, 50 s | passed, 60 s |\n"
        "| seed | not run | passed, 30 s |\n"
    )


def test_versions_are_in_their_order_and_not_the_alphabets():
    text = page(("5.10.1", {}), ("5.7.23", {}), ("10.0.1", {}))
    assert "| step | 5.7.23 | 5.10.1 | 10.0.1 |\n" in text


def test_a_reason_does_not_end_the_cell():
    text = page(("5.7.23", {"seed": "failed: a|b"}))
    assert "| seed | failed: a/b |\n" in text


def test_a_later_run_need_not_repeat_what_passed():
    text = page(
        ("5.7.23", {"site": "passed, 60 s", "seed": "failed: no"}),
        ("5.5.62", {"site": "passed: 9 looked at, 50 s", "seed": f"{servers_page.REFUSED}, 8 s"}),
    )
    assert servers_page.passed(text, "5.7.23") == {"site"}
    assert servers_page.passed(text, "5.5.62") == {"site", "seed"}
    assert servers_page.passed(text, "5.6.21") == set()
