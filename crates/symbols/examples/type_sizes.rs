fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().unwrap();
    let names = args.collect();
    let started = std::time::Instant::now();
    let module = memtoll_symbols::ModuleFile { path: std::path::Path::new(&path), build_id: &[] };
    let mut found: Vec<_> = memtoll_symbols::Resolver::new().type_sizes(&module, &names).into_iter().collect();
    let took = started.elapsed();
    found.sort();
    for n in &names { println!("{:?} {n}", found.iter().find(|f| f.0 == *n).map(|f| f.1)); }
    println!("{took:?}");
}
