use super::*;
use crate::testing::golden;

fn names(text: &str) -> Names {
    text.parse().unwrap()
}

fn cut(set: fn(&mut Cuts, Names)) -> View {
    let mut view = View::default();
    set(&mut view.cuts, names("buffer|small|worker|^libc"));
    view
}

/// All that is shown of each stack, in any view, is the same whether outer callers are looked at or not.
#[test]
fn what_leads_is_known_without_the_callers() {
    let views = [
        View::default(),
        View { unfold: true, ..View::default() },
        View { fold: Some(names("main|row")), ..View::default() },
        View { filter: Regex::new("main").ok(), ..View::default() },
        cut(|cuts, regex| cuts.drop = Some(regex)),
        cut(|cuts, regex| cuts.focus = Some(regex)),
        cut(|cuts, regex| cuts.collapse = Some(regex)),
        // Nothing is the program's own.
        View { fold: Some(names(".")), ..View::default() },
    ];
    let mut compared = 0;
    for name in ["costs", "forks", "tiny"] {
        let recording = golden(name);
        for view in &views {
            let (mut whole, mut parts) = (Stacks::new(&recording, view), Stacks::new(&recording, view));
            let mut frames = vec![FrameId::new(7)];
            for node in recording.stacks.ids() {
                let (stack, leading) = (whole.of(node), parts.leading(node));
                assert_eq!(parts.frames(leading.leading), whole.frames(stack.leading), "{name}: {node:?}");
                assert_eq!((leading.matches, leading.named_by), (stack.matches, stack.named_by), "{name}: {node:?}");
                parts.list(node, &mut frames);
                assert_eq!(frames, whole.frames(stack.path), "{name}: {node:?}");
                assert_eq!(parts.first(leading.leading), whole.first(stack.path), "{name}: {node:?}");
                compared += usize::from(!frames.is_empty());
            }
        }
    }
    assert!(compared > 200, "{compared}");
}

/// How many stacks each cut leaves out, shortens or leaves as they are.
#[test]
fn cuts_change_stacks() {
    let recording = golden("costs");
    let frames_of = |view: &View| {
        let mut stacks = Stacks::new(&recording, view);
        let mut all = Vec::new();
        for node in recording.stacks.ids().filter(|node| !node.is_root()) {
            let stack = stacks.of(node);
            all.push((stacks.frames(stack.path).len(), stack.matches));
        }
        all
    };
    let of = |set: fn(&mut Cuts, Names), cut: &str| {
        let mut view = View { unfold: true, ..View::default() };
        set(&mut view.cuts, names(cut));
        let (whole, cut) = (frames_of(&View { unfold: true, ..View::default() }), frames_of(&view));
        let shorter = whole.iter().zip(&cut).filter(|((whole, _), (cut, _))| cut < whole).count();
        (cut.iter().filter(|(_, matches)| *matches).count(), shorter)
    };
    let all = frames_of(&View::default()).len();
    let (left, shorter) = of(|cuts, names| cuts.drop = Some(names), "^buffer$");
    assert!(0 < left && left < all && shorter == 0, "{left} of {all}, {shorter} shorter");
    let (left, shorter) = of(|cuts, names| cuts.focus = Some(names), "^buffer$");
    assert!(0 < left && left < all && shorter >= left, "{left} of {all}, {shorter} shorter");
    let (left, shorter) = of(|cuts, names| cuts.collapse = Some(names), "^libc");
    assert!(left == all && shorter > 0, "{left} of {all}, {shorter} shorter");
}

/// Wrappers that are folded away later are as if they had always been, whatever was known by then.
#[test]
fn what_is_folded_later_is_folded() {
    let mut changed = 0;
    for name in ["costs", "forks", "tiny"] {
        let recording = golden(name);
        for pattern in ["^main$", "buffer|worker", "small", "."] {
            let wrappers = names(pattern);
            let mut later = Stacks::new(&recording, &View::default());
            let named = |stacks: &mut Stacks, node: StackId| {
                let leading = stacks.leading(node);
                let kind = stacks.type_of(&leading).map(|kind| stacks.type_name(kind).to_owned());
                (stacks.frames(leading.leading), stacks.of(node).path != Path::EMPTY, kind)
            };
            let before: Vec<_> = recording.stacks.ids().map(|node| named(&mut later, node)).collect();
            later.fold_wrappers(&wrappers);
            let view = View { wrappers: Some(wrappers), ..View::default() };
            let mut always = Stacks::new(&recording, &view);
            for (node, before) in recording.stacks.ids().zip(before) {
                let now = named(&mut later, node);
                assert_eq!(now, named(&mut always, node), "{name}, {pattern}: {node:?}");
                changed += usize::from(now != before);
            }
        }
    }
    assert!(changed > 0);
}

#[test]
fn a_list_of_inlined_frames_is_that_of_all_calls() {
    for name in ["costs", "forks", "tiny"] {
        let recording = golden(name);
        for unfold in [false, true] {
            let mut stacks = Stacks::new(&recording, &View { unfold, ..View::default() });
            let mut listed = Vec::new();
            for node in recording.stacks.ids() {
                stacks.list_inlined(node, &mut listed);
                let calls = stacks.calls(node);
                let of_call = |chain: &Vec<FrameId>| {
                    let outermost = chain.len() - 1;
                    chain.iter().enumerate().map(move |(at, frame)| (*frame, at < outermost)).collect::<Vec<_>>()
                };
                let expected: Vec<_> = calls.iter().flat_map(|(_, chain)| of_call(chain)).collect();
                assert_eq!(listed, expected, "{name}: {node:?}");
                let path = stacks.of(node).path;
                assert_eq!(listed.iter().map(|(frame, _)| *frame).collect::<Vec<_>>(), stacks.frames(path), "{name}");
            }
        }
    }
}
