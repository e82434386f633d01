//! scratch
use scumble::evaluate::reproduce::*;
fn main(){
  let a:Vec<String>=std::env::args().collect();
  let scale=if a.len()>1 && a[1]=="full" {Scale::full()} else {Scale::quick()};
  let t=std::time::Instant::now(); let mut last=String::new();
  let r=reproduce(std::path::Path::new("/work/shared/data"),&scale,&mut |w,d,n|{ if w!=last||d==n||d%50==0{eprintln!("{:.0}s {w} {d}/{n}",t.elapsed().as_secs_f64()); last=w.into();}}).unwrap();
  std::fs::write("/tmp/repro.html",r.page.render()).unwrap();
  r.outcomes.write_csv(std::fs::File::create("/tmp/repro.csv").unwrap()).unwrap();
  for c in &r.claims{println!("{} | {} | {} | {}",c.verdict(),c.source,c.statement,c.evidence);}
}
