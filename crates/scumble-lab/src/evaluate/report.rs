//! One self-contained HTML page: no network, no script. Everything that is shown to a reader is built from it.

use super::plot::Figure;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// A page, built item by item.
#[derive(Debug, Clone, Default)]
pub struct Page {
    title: String,
    subtitle: String,
    lead: String,
    facts: Vec<(String, String)>,
    items: Vec<Item>,
    footer: String,
}

#[derive(Debug, Clone)]
enum Item {
    Section { id: String, title: String },
    Text(String),
    Figure(Figure),
    Table(Table),
    Warning(String),
    Details { summary: String, text: String },
    Certificate(String),
}

/// Rows and columns with a caption.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Heads of the columns.
    pub head: Vec<String>,
    /// Cells, one vector per row.
    pub rows: Vec<Vec<Cell>>,
}

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Words, to the left.
    Text(String),
    /// A number, to the right.
    Number(String),
    /// A number that stands out.
    Best(String),
    /// A claim that the data bear out.
    Good(String),
    /// A claim that the data contradict.
    Bad(String),
    /// A claim that could not be tested.
    Open(String),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl Page {
    /// An empty page.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// A line under the title: which data, which run.
    pub fn subtitle(mut self, text: impl Into<String>) -> Self {
        self.subtitle = text.into();
        self
    }

    /// The reading in two sentences.
    pub fn lead(mut self, text: impl Into<String>) -> Self {
        self.lead = text.into();
        self
    }

    /// A number with its words, shown large under the lead.
    pub fn fact(mut self, value: impl Into<String>, words: impl Into<String>) -> Self {
        self.facts.push((value.into(), words.into()));
        self
    }

    /// A heading; pages with several get a table of contents.
    pub fn section(self, title: impl Into<String>) -> Self {
        let title = title.into();
        let id = title.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        self.item(Item::Section { id, title })
    }

    /// A paragraph.
    pub fn text(self, text: impl Into<String>) -> Self {
        self.item(Item::Text(text.into()))
    }

    /// A chart.
    pub fn figure(self, figure: Figure) -> Self {
        self.item(Item::Figure(figure))
    }

    /// A table.
    pub fn table(self, table: Table) -> Self {
        self.item(Item::Table(table))
    }

    /// Something the reader must not miss.
    pub fn warning(self, text: impl Into<String>) -> Self {
        self.item(Item::Warning(text.into()))
    }

    /// Text that opens on demand (and is open in print).
    pub fn details(self, summary: impl Into<String>, text: impl Into<String>) -> Self {
        self.item(Item::Details { summary: summary.into(), text: text.into() })
    }

    /// A certificate in plain words, line breaks kept.
    pub fn certificate(self, text: impl Into<String>) -> Self {
        self.item(Item::Certificate(text.into()))
    }

    /// Small print at the end: version, commit, machine.
    pub fn footer(mut self, text: impl Into<String>) -> Self {
        self.footer = text.into();
        self
    }

    fn item(mut self, item: Item) -> Self {
        self.items.push(item);
        self
    }

    /// The page as one HTML file.
    pub fn render(&self) -> String {
        let sections: Vec<(&String, &String)> = self
            .items
            .iter()
            .filter_map(|b| if let Item::Section { id, title } = b { Some((id, title)) } else { None })
            .collect();
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light";
                    meta name="generator" content=(concat!("scumble ", env!("CARGO_PKG_VERSION")));
                    title { (self.title) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    header {
                        p class="brand" { "scumble" }
                        h1 { (self.title) }
                        @if !self.subtitle.is_empty() { p class="subtitle" { (self.subtitle) } }
                        @if !self.lead.is_empty() { p class="lead" { (self.lead) } }
                        @if !self.facts.is_empty() {
                            dl class="facts" {
                                @for (value, words) in &self.facts { div { dt { (words) } dd { (value) } } }
                            }
                        }
                    }
                    @if sections.len() > 3 {
                        nav aria-label="Contents" {
                            @for (id, title) in &sections { a href={ "#" (id) } { (title) } }
                        }
                    }
                    main { @for item in &self.items { (item.to_html()) } }
                    @if !self.footer.is_empty() { footer { (self.footer) } }
                }
            }
        };
        page.into_string()
    }
}

impl Page {
    /// The page as Markdown, whose pictures are the files [`Figure::file_name`] in the folder `pictures`.
    pub fn to_markdown(&self, pictures: &str) -> String {
        let mut parts = vec![format!("# {}", self.title), self.subtitle.clone(), self.lead.clone()];
        parts.extend(self.items.iter().map(|item| item.to_markdown(pictures)));
        parts.push(self.footer.clone());
        parts.retain(|part| !part.is_empty());
        parts.join("\n\n") + "\n"
    }
}

impl Item {
    fn to_markdown(&self, pictures: &str) -> String {
        match self {
            Self::Section { title, .. } => format!("## {title}"),
            Self::Text(text) => text.clone(),
            Self::Figure(figure) => {
                let (title, caption) = (&figure.title, &figure.caption);
                format!("### {title}\n\n![{title}]({pictures}/{})\n\n{caption}", figure.file_name())
            }
            Self::Table(table) => table.to_markdown(),
            Self::Warning(text) => format!("> **Take care.** {text}"),
            Self::Details { summary, text } => format!("{summary}\n\n```\n{text}\n```"),
            Self::Certificate(text) => format!("```\n{text}\n```"),
        }
    }

    fn to_html(&self) -> Markup {
        match self {
            Self::Section { id, title } => html! { h2 id=(id) { (title) } },
            Self::Text(text) => html! { p { (text) } },
            Self::Figure(figure) => figure.to_html(),
            Self::Table(table) => table.to_html(),
            Self::Warning(text) => html! { aside class="warning" role="note" { strong { "Take care. " } (text) } },
            Self::Details { summary, text } => html! { details { summary { (summary) } pre { (text) } } },
            Self::Certificate(text) => html! { pre class="certificate" { (text) } },
        }
    }
}

impl Table {
    fn numeric(&self, column: usize) -> bool {
        let mut cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.any(|cell| matches!(cell, Cell::Number(_) | Cell::Best(_)))
    }

    fn to_markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
        let rule = |column| if self.numeric(column) { "--:" } else { "---" };
        let mut lines =
            vec![line(self.head.clone()), line((0..self.head.len()).map(|column| rule(column).to_owned()).collect())];
        lines.extend(self.rows.iter().map(|row| line(row.iter().map(Cell::to_markdown).collect())));
        format!("{}\n\n{}", self.caption, lines.join("\n"))
    }

    fn to_html(&self) -> Markup {
        html! {
            div class="scroll" {
                table {
                    @if !self.caption.is_empty() { caption { (self.caption) } }
                    thead {
                        tr {
                            @for (column, head) in self.head.iter().enumerate() {
                                th scope="col" class=[self.numeric(column).then_some("number")] { (head) }
                            }
                        }
                    }
                    tbody { @for row in &self.rows { tr { @for cell in row { (cell.to_html()) } } } }
                }
            }
        }
    }
}

impl Cell {
    fn to_markdown(&self) -> String {
        match self {
            Self::Best(text) | Self::Bad(text) => format!("**{text}**"),
            Self::Text(text) | Self::Number(text) | Self::Good(text) | Self::Open(text) => text.replace('|', "\\|"),
        }
    }

    fn to_html(&self) -> Markup {
        match self {
            Self::Text(text) => html! { td { (text) } },
            Self::Number(text) => html! { td class="number" { (text) } },
            Self::Best(text) => html! { td class="number best" { (text) } },
            Self::Good(text) => html! { td { span class="badge good" { (text) } } },
            Self::Bad(text) => html! { td { span class="badge bad" { (text) } } },
            Self::Open(text) => html! { td { span class="badge open" { (text) } } },
        }
    }
}

const STYLE: &str = "
:root{--ink:#161b22;--soft:#4d5866;--line:#dfe4ea;--wash:#f5f7f9;--accent:#0067a5}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0 auto;max-width:71rem;padding:clamp(1.25rem,4vw,3.5rem) clamp(1rem,4vw,2.5rem);color:var(--ink);
background:#fff;font:1rem/1.6 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}
.brand{margin:0 0 .75rem;font-size:.8rem;font-weight:700;letter-spacing:.16em;text-transform:uppercase;
color:var(--accent)}
h1{margin:0;font-size:clamp(1.75rem,5vw,2.6rem);line-height:1.15;letter-spacing:-.02em;text-wrap:balance}
h2{margin:3.25rem 0 1rem;padding-top:1.1rem;border-top:1px solid var(--line);font-size:1.45rem;line-height:1.25;
letter-spacing:-.01em}
h3{margin:0 0 .6rem;font-size:1.05rem;line-height:1.35}
p{max-width:46rem}
.subtitle{margin:.5rem 0 0;color:var(--soft)}
.lead{margin:1.6rem 0 0;max-width:44rem;font-size:clamp(1.15rem,2.6vw,1.4rem);line-height:1.5;text-wrap:pretty}
.facts{display:flex;flex-wrap:wrap;gap:1px;margin:2rem 0 0;
background:var(--line);border:1px solid var(--line);border-radius:.6rem;overflow:hidden}
.facts div{flex:1 1 9.5rem;display:flex;flex-direction:column-reverse;justify-content:flex-end;padding:1rem 1.15rem;background:#fff}
.facts dt{color:var(--soft);font-size:.875rem;line-height:1.4}
.facts dd{margin:0 0 .2rem;font-size:1.9rem;font-weight:650;line-height:1.15;letter-spacing:-.02em;
font-variant-numeric:tabular-nums}
nav{display:flex;flex-wrap:wrap;gap:.4rem .5rem;margin:2rem 0 0;font-size:.9rem}
nav a{padding:.2rem .75rem;border:1px solid var(--line);border-radius:1rem;color:var(--accent);text-decoration:none}
nav a:hover,nav a:focus{background:var(--wash)}
figure{margin:1.75rem 0 2.5rem}
figure.single{max-width:36rem}
.panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,19rem),1fr));gap:1rem 1.25rem}
.panel>svg{display:block;width:100%;height:auto;font-family:inherit;overflow:visible}
.legend{display:flex;flex-wrap:wrap;gap:.35rem 1.4rem;margin:.6rem 0 0;padding:0;list-style:none;font-size:.9rem}
.legend li{display:flex;align-items:center;gap:.5rem}
.legend svg{flex:none}
figcaption{margin-top:.7rem;max-width:46rem;color:var(--soft);font-size:.925rem;line-height:1.5}
.scroll{margin:1.5rem 0 2.25rem;overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.925rem;line-height:1.4;font-variant-numeric:tabular-nums}
caption{padding:0 0 .6rem;text-align:left;color:var(--soft);font-size:.925rem}
th,td{padding:.5rem .9rem .5rem 0;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
th{border-bottom:1.5px solid var(--ink);font-weight:600;white-space:nowrap;vertical-align:bottom}
th.number,td.number{text-align:right}
td.best{font-weight:700}
.badge{display:inline-block;padding:.08rem .6rem;border-radius:1rem;font-size:.85rem;font-weight:600;white-space:nowrap}
.good{background:#dcf2e6;color:#075c3d}
.bad{background:#fbe3e4;color:#8d1f2d}
.open{background:#eceff3;color:#414b58}
.warning{margin:1.5rem 0;padding:.9rem 1.15rem;max-width:46rem;border-left:4px solid #d98a00;border-radius:0 .4rem .4rem 0;
background:#fff6e2}
details{margin:1rem 0;border:1px solid var(--line);border-radius:.5rem}
summary{padding:.65rem 1rem;font-weight:600;cursor:pointer}
pre{margin:0;padding:1rem 1.15rem;overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere;background:var(--wash);
border-radius:.5rem;font:.875rem/1.55 ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace}
pre.certificate{margin:1.25rem 0 2rem;border-left:4px solid var(--accent)}
footer{margin-top:3.5rem;padding-top:1rem;border-top:1px solid var(--line);color:var(--soft);font-size:.85rem}
@media print{
@page{margin:16mm}
body{max-width:none;padding:0;font-size:10pt}
nav{display:none}
.panels{grid-template-columns:repeat(auto-fit,minmax(12rem,1fr))}
figure,tr,.facts,.warning,pre{break-inside:avoid}
h2,h3{break-after:avoid}
.scroll{overflow:visible}
details::details-content{content-visibility:visible;block-size:auto}
.badge,.warning,pre{print-color-adjust:exact;-webkit-print-color-adjust:exact}
}
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_needs_no_network_and_no_script() {
        let table = Table {
            caption: "t".into(),
            head: vec!["claim".into(), "recall".into(), "verdict".into()],
            rows: vec![vec!["a < b".into(), Cell::Best("0.7".into()), Cell::Good("confirmed".into())]],
        };
        let page = Page::new("A & B").lead("One. Two.").fact("87%", "kept").section("What it says").table(table);
        let page = page.warning("w").details("more", "d").certificate("c\nd").footer("f");
        let plain = "# A & B\n\nOne. Two.\n\n## What it says\n\nt\n\n| claim | recall | verdict |\n| --- | --: | --- |\n\
                     | a < b | **0.7** | confirmed |\n\n> **Take care.** w\n\nmore";
        assert!(page.to_markdown("pictures").starts_with(plain), "{}", page.to_markdown("pictures"));
        let text = page.render();
        assert!(text.starts_with("<!DOCTYPE html>") && text.ends_with("</html>"));
        assert!(text.contains("<title>A &amp; B</title>") && text.contains("a &lt; b"));
        for outside in ["http:", "https:", "<script", "<link", "@import", "url("] {
            assert!(!text.contains(outside), "{outside}");
        }
        assert!(text.contains("id=\"what-it-says\"") && !text.contains("<nav"));
    }
}
