//! A recording's sums: for each process image, by stack node.

use crate::aggregate::{Aggregator, Selection, peak_of_sum};
use crate::beside::Beside;
use crate::processor::ProcessorTimes;
use crate::tariff::Tariff;
use memtoll_model::Recording;
use memtoll_trace::summary::{LiveCurve, Metrics};
use std::ops::ControlFlow;

/// The sums of one image.
pub struct ImageSums {
    /// Its index in [`Recording::images`].
    pub image: usize,
    /// Stack node, what the site is split by, and the site's metrics.
    pub sites: Vec<(u32, u64, Metrics)>,
    /// All sites together.
    pub total: Metrics,
    /// What is charged to no site.
    pub beside: Beside,
    /// Live bytes over time.
    pub curve: LiveCurve,
    /// When live bytes were at their peak, units.
    pub peak_time: u64,
}

/// The sums of a recording.
pub struct Sums {
    /// What was added up.
    pub selection: Selection,
    /// By image.
    pub images: Vec<ImageSums>,
    /// All images together. Its `peak_bytes` is the peak of all processes at one instant.
    pub total: Metrics,
    /// When that was, or when the largest image's peak was, units.
    pub peak_time: u64,
    /// Processor time in a selected span of time, where it is known; `None` without one.
    pub processor: Option<ProcessorTimes>,
    /// How long the selected span of time was, from the first image's beginning to the last one's end, units.
    pub duration: u64,
    /// Statements about what is missing.
    pub damage: Vec<String>,
}

/// Adds up what `selection` selects. Without a selection, this is what the file says already; otherwise, all events are
/// read.
pub fn sums(recording: &Recording, selection: Selection) -> Sums {
    let mut damage = Vec::new();
    let images: Vec<ImageSums> =
        (0..recording.images.len()).map(|index| image_sums(recording, index, selection, &mut damage)).collect();
    let mut total = Metrics::default();
    for image in &images {
        total.add(&image.total);
    }
    let largest = images.iter().max_by_key(|image| image.total.peak_bytes);
    let peak_time = largest.map_or(0, |image| image.peak_time);
    if images.len() > 1 && selection.from == 0 {
        let curves: Vec<&LiveCurve> = images.iter().map(|image| &image.curve).collect();
        let highest = largest.map_or(0, |image| image.total.peak_bytes);
        total.peak_bytes = peak_of_sum(&curves).clamp(highest, total.peak_bytes.max(highest));
    }
    let began = recording.images.iter().map(|image| image.about.began).min().unwrap_or(0);
    let duration = recording.ended().min(selection.to).saturating_sub(began.max(selection.from));
    let span = selection.is_span().then_some((selection.from, selection.to));
    let processor = span.and_then(|(from, to)| ProcessorTimes::between(recording, from, to));
    Sums { selection, images, total, peak_time, processor, duration, damage }
}

fn image_sums(recording: &Recording, index: usize, selection: Selection, damage: &mut Vec<String>) -> ImageSums {
    let image = &recording.images[index];
    let stored = image.summary.as_ref().filter(|_| selection.is_everything());
    let tariff = Tariff::of(recording);
    let mut beside = image.end.as_ref().map(|end| Beside::of(&end.kernel)).unwrap_or_default();
    let (mut sites, curve, peak_time) = match stored {
        Some(summary) => {
            let sites = summary.sites.iter().map(|(node, metrics)| (*node, 0, *metrics));
            (sites.collect::<Vec<_>>(), summary.curve.clone(), summary.peak_time)
        }
        None => {
            let mut aggregator = Aggregator::new(selection);
            let read = recording.for_each_events(index, |events| {
                for event in events {
                    aggregator.push(event);
                }
                match events.last() {
                    Some(event) if event.time > selection.to => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                }
            });
            damage.extend(read.err());
            let mut seen = Beside::default();
            let read = recording.for_each_cost(index, |cost| {
                seen.cost(cost, &selection);
                aggregator.cost(cost);
            });
            damage.extend(read.err());
            if selection.is_part() || image.end.is_none() {
                beside = seen;
            }
            let sites: Vec<_> = aggregator.sites(|node| image.is_cut_off(node)).collect();
            (sites, aggregator.curve(), aggregator.peak_time())
        }
    };
    let mut total = Metrics::default();
    for (_, _, metrics) in &mut sites {
        tariff.fill_in(metrics);
        total.add(metrics);
    }
    ImageSums { image: index, sites, total, beside, curve, peak_time }
}
