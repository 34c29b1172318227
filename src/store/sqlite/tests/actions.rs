use super::*;

#[test]
fn what_was_done_is_kept_until_it_is_logged_and_then_a_thousand_of_it() {
    let mut base = Base::new();
    for number in 1..=1500 {
        base.tx(|tx| tx.note_action(NOON, "anna", &format!("cancelled job {number}")));
    }
    let unlogged = base.store.view().unlogged_actions(2000).unwrap();
    assert_eq!((unlogged.len(), &*unlogged[0].what), (1500, "cancelled job 1"));
    base.tx(|tx| tx.actions_logged(unlogged[1199].id));
    assert_eq!(base.store.view().unlogged_actions(2000).unwrap().len(), 300);
    let all = base.store.view().actions(2000).unwrap();
    assert_eq!((all.len(), &*all[0].what, &*all[999].what), (1000, "cancelled job 1500", "cancelled job 501"));
}

#[test]
fn a_long_sentence_is_cut_between_characters() {
    let mut base = Base::new();
    base.tx(|tx| tx.note_action(NOON, "anna", &format!("a{}", "é".repeat(2000))));
    assert_eq!(base.store.view().actions(1).unwrap()[0].what.len(), 1999);
}
