//! The call stacks of a thread in the order of time, as columns.

use crate::ask::StackChart as ChartPage;
use crate::frame_table::FrameTable;
use crate::metrics;
use crate::no_answer::NoAnswer;
use crate::pack::Pack;
use crate::packs::{BarColumns, ChartColumns, LaneOfThread, StackChartPack};
use crate::recordings::Recordings;
use memtoll_analysis::processor::ImageOrThread;
use memtoll_analysis::sites::GroupBy;
use memtoll_analysis::stack_chart::{Asked, Bar, StackChart, columns, stack_chart};
use memtoll_analysis::stacked_timeline::Amount;
use memtoll_analysis::thread_filter::thread_name;
use memtoll_query::{Query, Shown, View};

impl Recordings<'_> {
    /// Of the selected thread that has most of the query's metric.
    pub(crate) fn stack_chart(&self, query: &Query, asked: &ChartPage) -> Result<Pack, NoAnswer> {
        let metric = query.metric();
        let numbers = metrics::chosen(&asked.metrics)?;
        let view = View::Table { group: GroupBy::Thread, limit: None };
        let answer = self.ask(&Query { view, metric: Some(metric), findings: false, ..query.clone() })?;
        let Shown::Table(table) = answer.shown else { return Err(NoAnswer::Lacks("table")) };
        let basis = answer.basis;
        let about = metric.about();
        let why = match Amount::of(metric) {
            Some(Amount::During) if metric.is_known(basis.tariff.sees()) => String::new(),
            Some(Amount::During) => format!("The {} is not known: {}.", about.title, about.seen.why_not()),
            _ => format!("The {} is not what happens at an instant, so it has no order in time.", about.title),
        };
        let rows = table.sites.iter().map(|row| &row.row);
        let mut threads = rows.filter(|row| why.is_empty() && metric.value(&row.metrics) > 0).filter_map(|row| row.of);
        let of = threads.next();
        let mut head = StackChartPack {
            thread: of.map(|of| self.thread(of)),
            others: threads.count(),
            why,
            texts: Vec::new(),
            damage: answer.missing.clone(),
        };
        let (mut times, mut chart) = (Vec::new(), StackChart::default());
        if let Some(of) = of {
            let selection = basis.selection;
            let span = (selection.from.0, selection.to.0.min(self.recording().ended()));
            let sliced = self.session().sliced();
            times = columns(self.recording(), of, span, asked.columns, sliced);
            let chart_of = Asked {
                metric,
                tariff: &basis.tariff,
                selection,
                of,
                cuts: &times,
                by_line: asked.lines,
                sliced,
                numbers: &|priced| numbers.of(priced, &basis.tariff).collect(),
            };
            chart = stack_chart(self.recording(), &mut self.stacks(&basis.view), &chart_of);
        }
        let StackChart { columns, numbers: total, bars, damage } = chart;
        let mut frames = FrameTable::default();
        let column = |of: fn(&Bar) -> f64| bars.iter().map(of).collect();
        let shown = BarColumns {
            caller: column(|bar| bar.caller.map_or(0.0, |caller| caller as f64 + 1.0)),
            frame: bars.iter().map(|bar| f64::from(frames.number(bar.frame))).collect(),
            first: column(|bar| bar.columns.0 as f64),
            behind: column(|bar| bar.columns.1 as f64),
            value: column(|bar| bar.value),
        };
        head.damage.extend(damage);
        let (named, texts) = frames.columns(self.recording());
        head.texts = texts;
        let mut pack = Pack::new(&head);
        let ns = |times: &[u64]| times.iter().map(|units| self.tariff.ns(*units as f64)).collect();
        let (begin, end) =
            (ns(times.split_last().map_or(&[], |(_, rest)| rest)), ns(times.get(1..).unwrap_or_default()));
        pack.columns("columns", &ChartColumns { begin, end, value: columns });
        pack.columns("bars", &shown);
        let rows = std::iter::once(&total).chain(bars.iter().map(|bar| &bar.numbers));
        numbers.write(&mut pack, "bars", rows.map(|row| row.iter().copied()));
        pack.columns("frames", &named);
        Ok(pack)
    }

    pub(crate) fn thread(&self, of: ImageOrThread) -> LaneOfThread {
        let image = &self.recording().images[of.image];
        let thread = of.thread.and_then(|thread| image.thread(thread));
        let name = thread.and_then(|thread| thread_name(image, thread)).map(str::to_owned);
        LaneOfThread {
            image: of.image,
            process: image.process,
            pid: image.about.pid,
            tid: thread.map(|thread| thread.tid),
            name,
        }
    }
}
