//! A server for tools/attach-rounds.py: answers each line with its words in reverse order. Prints its port.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

fn serve(stream: TcpStream) -> std::io::Result<()> {
    let mut answers = stream.try_clone()?;
    for line in BufReader::new(stream).lines() {
        let mut words: Vec<String> = line?.split(' ').map(str::to_owned).collect();
        words.reverse();
        answers.write_all(format!("{}\n", words.join(" ")).as_bytes())?;
    }
    Ok(())
}

fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?.port());
    for stream in listener.incoming() {
        let stream = stream?;
        std::thread::spawn(move || serve(stream));
    }
    Ok(())
}
