// HCL1, the language of older files: keys may be quoted, several settings may share a line, a
// closing brace may follow the last of them, commas between them are allowed. There are no
// expressions; "${…}" in a string is text.
//
//   object = { key { key } ( [ "=" ] "{" object "}" | "=" value ) [ "," ] }
//   value  = number | "true" | "false" | string | heredoc | "[" value , … "]" | "{" object "}"
//
// It makes the same tree as native syntax: an object is a block wherever a block may be, of two
// settings of one name the later one counts, and two lists of one name are one. Within a list,
// which has no blocks, an object in another is a list of one, as HCL1 has it.
#include "runtime/hcl/syntax/hcl1_parser.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/hcl/syntax/tree_builder.hpp"

namespace nomad::hcl {

namespace {

/// Of blocks and lists in each other; a label is a level, too.
constexpr std::size_t max_depth = 64;

/// Settings, values and labels: each takes some three hundred bytes, and a text has one in three.
constexpr std::size_t max_nodes = 250'000;

bool is_word_start(char c) {
  return is_letter(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

bool is_word(char c) {
  return is_word_start(c) || is_digit(c) || c == '-' || c == '.';
}

/// Reads from the front of a text. The first error stays; after it everything reads as nothing.
class Hcl1Parser {
public:
  Hcl1Parser(File& file, bool keeps_repeats)
      : builder_{file},
        source_{file.source()},
        text_{file.source().text()},
        keeps_repeats_{keeps_repeats} {}

  Diagnostics run() {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    if (!is_valid_utf8(text_) || text_.find('\0') != std::string_view::npos) fail("expected UTF-8");
    const auto* body = object(0);
    if (!error_ && !at_end()) fail("expected a key");
    builder_.set_body(body);
    return error_ ? Diagnostics{*error_} : Diagnostics{};
  }

private:
  struct Key {
    std::string_view text;
    Span span;
  };

  bool at_end() const { return at_ >= text_.size(); }

  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  Span since(std::size_t start) const {
    return {static_cast<std::uint32_t>(start),
            static_cast<std::uint32_t>(std::min(at_, text_.size()))};
  }

  void fail(std::string_view what) {
    if (error_) return;
    at_ = std::min(at_, text_.size());
    error_ = error_at(source_, since(at_), "Invalid HCL1", std::string{what});
    at_ = text_.size();
  }

  /// Passes over space and comments.
  void skip() {
    while (!at_end()) {
      const char c = peek();
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        ++at_;
      } else if (c == '#' || (c == '/' && peek(1) == '/')) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '/' && peek(1) == '*') {
        const auto end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) return fail("a comment does not end");
        at_ = end + 2;
      } else {
        return;
      }
    }
  }

  bool take(char c) {
    skip();
    if (peek() != c || at_end()) return false;
    ++at_;
    return true;
  }

  // -- blocks and settings
  // ---------------------------------------------------------------------------

  struct Items {
    std::vector<AttributeNode> attributes;
    std::map<std::string_view, std::size_t> positions;             ///< Of the attributes.
    std::map<std::size_t, std::vector<const Expression*>> united;  ///< Elements of several lists.
    std::vector<const BlockNode*> blocks;
  };

  /// What is between two braces, or in the whole text.
  const BodyNode* object(std::size_t depth) {
    Items items;
    if (depth > max_depth) fail("blocks are nested too deeply");
    const auto start = at_;
    for (skip(); !error_ && !at_end() && peek() != '}'; skip()) {
      item(items, depth);
      take(',');
    }
    for (const auto& [position, elements] : items.united) {
      auto& list = items.attributes[position];
      list.expr = tuple(elements, as<TupleExpr>(*list.expr).open, list.expr->span);
    }
    BodyNode body;
    body.attributes = builder_.arena().copy(items.attributes);
    body.blocks = builder_.arena().copy(items.blocks);
    body.span = since(start);
    body.end = {body.span.end, body.span.end};
    return builder_.arena().make(body);
  }

  void item(Items& items, std::size_t depth) {
    std::vector<Key> keys;
    for (skip(); peek() == '"' || is_word_start(peek()) || is_digit(peek()); skip()) {
      const auto start = at_;
      const auto text = peek() == '"' ? builder_.arena().copy(in_quotes()) : word();
      keys.push_back({text, since(start)});
    }
    nodes_ += std::max<std::size_t>(keys.size(), 1);
    if (nodes_ > max_nodes) fail("too many settings");
    if (depth + keys.size() > max_depth + 1) fail("blocks are nested too deeply");
    if (error_) return;
    if (keys.empty()) return fail("expected a key");
    skip();
    const auto equals = at_;
    const bool is_set = keys.size() == 1 && take('=');
    const auto equals_span = since(equals);
    skip();
    if (peek() == '{') return block(items, keys, depth);
    if (!is_set) return fail(keys.size() == 1 ? "expected \"=\" or a block" : "expected a block");
    AttributeNode attribute{};
    attribute.name = keys.front().text;
    attribute.name_span = keys.front().span;
    attribute.equals = equals_span;
    attribute.expr = value(depth);
    attribute.span = since(keys.front().span.begin);
    const auto [position, is_new]
        = items.positions.emplace(attribute.name, items.attributes.size());
    if (is_new || keeps_repeats_) return items.attributes.push_back(attribute);
    unite(items, position->second, attribute.expr);
    items.attributes[position->second] = attribute;
  }

  /// What was set before is followed by `later`, if both are lists.
  static void unite(Items& items, std::size_t position, const Expression* later) {
    const auto* before = items.attributes[position].expr;
    if (before->kind != ExprKind::tuple || later->kind != ExprKind::tuple) {
      items.united.erase(position);
      return;
    }
    auto& elements = items.united[position];
    const auto first = as<TupleExpr>(*before).elements;
    const auto second = as<TupleExpr>(*later).elements;
    if (elements.empty()) elements.assign(first.begin(), first.end());
    elements.insert(elements.end(), second.begin(), second.end());
  }

  void block(Items& items, const std::vector<Key>& keys, std::size_t depth) {
    std::vector<std::string_view> labels;
    std::vector<Span> spans;
    for (std::size_t i = 1; i < keys.size(); ++i) {
      labels.push_back(keys[i].text);
      spans.push_back(keys[i].span);
    }
    BlockNode node{};
    node.type = keys.front().text;
    node.type_span = keys.front().span;
    node.labels = builder_.arena().copy(labels);
    node.label_spans = builder_.arena().copy(spans);
    node.file = builder_.file();
    const auto open = at_++;
    node.open_brace = since(open);
    node.body = object(depth + keys.size());
    const auto close = at_;
    if (!error_ && !take('}')) fail("expected a closing brace");
    node.close_brace = since(close);
    items.blocks.push_back(builder_.arena().make(node));
  }

  // -- values
  // ----------------------------------------------------------------------------------------

  template <class Node>
  const Expression* make(Node node, Span span, std::uint16_t height = 1) {
    node.span = span;
    node.height = height;
    node.file = builder_.file();
    return builder_.arena().make(node);
  }

  const Expression* literal(Value content, std::size_t start) {
    LiteralExpr node{};
    node.value = builder_.arena().keep(std::move(content));
    return make(node, since(start));
  }

  const Expression* value(std::size_t depth) {
    if (depth > max_depth) fail("values are nested too deeply");
    if (++nodes_ > max_nodes) fail("too many values");
    skip();
    const char c = peek();
    const auto start = at_;
    if (c == '"') return literal(Value::string(in_quotes()), start);
    if (c == '<' && peek(1) == '<') return literal(Value::string(heredoc()), start);
    if (c == '-' || is_digit(c)) return literal(number(), start);
    if (take('{')) {
      const auto* inner = object(depth + 1);
      if (!error_ && !take('}')) fail("expected a closing brace");
      return object_of(*inner, since(start));
    }
    if (take('[')) return list(depth, start);
    const auto name = is_word_start(c) ? word() : std::string_view{};
    if (name == "true" || name == "false") return literal(Value::boolean(name == "true"), start);
    at_ = start;
    fail("expected a value");
    return literal(Value::null(), start);
  }

  const Expression* list(std::size_t depth, std::size_t start) {
    std::vector<const Expression*> elements;
    const auto open = since(start);
    while (!error_ && !take(']')) {
      elements.push_back(value(depth + 1));
      if (!take(',') && !error_) {
        if (!take(']')) fail("expected a comma or a closing bracket");
        break;
      }
    }
    return tuple(elements, open, since(start));
  }

  const Expression* tuple(const std::vector<const Expression*>& elements, Span open, Span span) {
    TupleExpr node{};
    node.elements = builder_.arena().copy(elements);
    node.open = open;
    std::uint16_t height = 0;
    for (const auto* element : elements)
      height = std::max(height, element->height);
    return make(node, span, height + 1);
  }

  /// A body as a value.
  const Expression* object_of(const BodyNode& body, Span span) {
    std::vector<std::pair<Key, const Expression*>> members;
    for (const auto& attribute : body.attributes)
      members.push_back({{attribute.name, attribute.name_span}, attribute.expr});
    std::map<std::string_view, std::vector<const Expression*>> blocks;
    for (const auto* block : body.blocks) {
      const Span whole = cover(block->type_span, block->close_brace);
      const auto* inner = object_of(*block->body, whole);
      for (auto label = block->labels.rbegin(); label != block->labels.rend(); ++label)
        inner = object_of({{{*label, whole}, tuple({inner}, block->open_brace, whole)}}, whole);
      blocks[block->type].push_back(inner);
    }
    for (const auto& [type, elements] : blocks)
      members.push_back({{type, span}, tuple(elements, span, span)});
    return object_of(members, span);
  }

  const Expression* object_of(const std::vector<std::pair<Key, const Expression*>>& members,
                              Span span) {
    std::vector<ObjectItem> items;
    std::uint16_t height = 2;
    for (const auto& [key, content] : members) {
      LiteralExpr name{};
      name.value = builder_.arena().keep(Value::string(key.text));
      ObjectKeyExpr wrapper{};
      wrapper.wrapped = make(name, key.span);
      items.push_back({make(wrapper, key.span, 2), content});
      height = std::max(height, content->height);
    }
    ObjectExpr node{};
    node.items = builder_.arena().copy(items);
    node.open = {span.begin, std::min(span.begin + 1, span.end)};
    return make(node, span, height + 1);
  }

  std::string_view word() {
    const auto start = at_;
    while (is_word(peek()))
      ++at_;
    return text_.substr(start, at_ - start);
  }

  Value number() {
    const auto start = at_;
    if (peek() == '-') ++at_;
    while (is_word(peek()) || ((peek() == '+' || peek() == '-') && (text_[at_ - 1] | 0x20) == 'e'))
      ++at_;
    const auto digits = text_.substr(start, at_ - start);
    const bool is_negative = digits.front() == '-';
    const auto bare = digits.substr(is_negative ? 1 : 0);
    std::optional<Number> read;
    if (bare.starts_with("0x") || bare.starts_with("0X"))
      read = whole_number(is_negative, bare.substr(2), 16);
    else if (bare.size() > 1 && bare.front() == '0' && std::ranges::all_of(bare, is_digit))
      read = whole_number(is_negative, bare.substr(1), 8);
    else if (!bare.empty() && is_digit(bare.front()))
      read = Number::parse(digits);
    if (read) return Value::number(*read);
    at_ = start;
    fail("not a number");
    return Value::null();
  }

  static std::optional<Number> whole_number(bool is_negative, std::string_view digits, int base) {
    if (digits.empty() || digits.front() == '-' || digits.front() == '+') return std::nullopt;
    return Number::parse_integer((is_negative ? "-" : "") + std::string{digits}, base);
  }

  // -- texts
  // -----------------------------------------------------------------------------------------

  std::string in_quotes() {
    std::string out;
    int braces = 0;  // inside "${…}" quotes and all else are text
    for (++at_; !at_end(); ++at_) {
      const char c = peek();
      if (c == '\n' && braces == 0) break;
      if (braces == 0 && c == '"') {
        ++at_;
        return out;
      }
      if (braces == 0 && c == '\\') {
        if (!escape(out)) return out;
        continue;
      }
      if (c == '{' && (braces > 0 || (!out.empty() && out.back() == '$'))) ++braces;
      if (c == '}' && braces > 0) --braces;
      out += c;
    }
    fail("a string does not end");
    return out;
  }

  /// The character after a backslash, which is at the front.
  bool escape(std::string& out) {
    constexpr std::string_view names = "abfnrtv\"\\";
    constexpr std::string_view meanings = "\a\b\f\n\r\t\v\"\\";
    ++at_;
    const char c = peek();
    if (const auto known = names.find(c); known != std::string_view::npos && !at_end()) {
      out += meanings[known];
      return true;
    }
    const std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    char32_t code = 0;
    bool is_code = digits > 0;
    for (std::size_t i = 1; i <= digits && is_code; ++i) {
      is_code = is_hex_digit(peek(i));
      if (is_code) code = code * 16 + static_cast<char32_t>(hex_value(peek(i)));
    }
    if (is_code && code <= 0x10FFFF && !(code >= 0xD800 && code <= 0xDFFF)) {
      append_utf8(out, code);
      at_ += digits;
      return true;
    }
    fail("an escape that means nothing");
    return false;
  }

  /// "<<END", to which the indentation of the closing line belongs, or "<<-END", which takes it
  /// away from all lines.
  std::string heredoc() {
    at_ += 2;
    const bool indented = peek() == '-';
    if (indented) ++at_;
    const auto end_mark = word();
    if (end_mark.empty() || (peek() != '\n' && peek() != '\r')) {
      fail("expected a line break after the mark of a heredoc");
      return {};
    }
    at_ = std::min(text_.find('\n', at_), text_.size() - 1) + 1;
    std::vector<std::string_view> lines;
    while (!at_end()) {
      const auto stop = std::min(text_.find('\n', at_), text_.size());
      auto line = text_.substr(at_, stop - at_);
      if (line.ends_with('\r')) line.remove_suffix(1);
      const auto indentation = std::min(line.find_first_not_of(" \t"), line.size());
      if (line.substr(indentation) != end_mark) {
        at_ = std::min(stop + 1, text_.size());
        lines.push_back(line);
        continue;
      }
      at_ = stop;
      std::string out;
      const auto all_have_it = std::ranges::all_of(lines, [&](std::string_view each) {
        return each.starts_with(line.substr(0, indentation));
      });
      for (const auto each : lines)
        out.append(each.substr(indented && all_have_it ? indentation : 0)).append("\n");
      if (!indented) out.append(line.substr(0, indentation));
      return out;
    }
    fail("a heredoc does not end");
    return {};
  }

  TreeBuilder builder_;
  const Source& source_;
  std::string_view text_;
  std::size_t at_ = 0;
  bool keeps_repeats_;
  std::size_t nodes_ = 0;
  std::optional<Diagnostic> error_;
};

Parsed read_hcl1(std::string file_name, std::string text, bool keeps_repeats) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{')
    return parse_json(std::move(file_name), std::move(text), Syntax::hcl1_json);
  if (text.size() > max_text_bytes) return parse(std::move(file_name), std::move(text));
  auto file = std::make_shared<File>(std::move(file_name), std::move(text), Syntax::native);
  Hcl1Parser parser{*file, keeps_repeats};
  Parsed out;
  out.diagnostics = parser.run();
  out.file = std::move(file);
  return out;
}

}  // namespace

Parsed parse_hcl1(std::string file_name, std::string text) {
  return read_hcl1(std::move(file_name), std::move(text), false);
}

Parsed parse_repeating_hcl1(std::string file_name, std::string text) {
  return read_hcl1(std::move(file_name), std::move(text), true);
}

}  // namespace nomad::hcl
