//! `memtoll fleet`: what a store says is what the recordings say, however it came there.

mod as_reports;
mod breaking;
mod clickhouse;
mod faults;
mod pages;
mod questions;
mod rollups;
mod store;
