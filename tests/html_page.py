"""A page as a browser would take it apart."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """What a browser would make of it: elements with attributes, visible text, balance of tags."""

    VOID = ("meta", "br", "img", "link", "input", "hr")

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts, self.open, self.faults = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    def all(self, key):
        return [attrs[key] for _, attrs in self.elements if key in attrs]

    def ids(self):
        return self.all("id")
