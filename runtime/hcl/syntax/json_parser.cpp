// JSON files: tokens and tree, with HCL's messages for what is not JSON.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/similar_name.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/hcl/syntax/json_node.hpp"
#include "runtime/hcl/syntax/tree_builder.hpp"
#include "runtime/text/json.hpp"

namespace nomad::hcl {

namespace {

enum class JsonToken : std::uint8_t {
  open_brace,
  close_brace,
  open_bracket,
  close_bracket,
  comma,
  colon,
  equals,
  string,
  number,
  keyword,
  invalid,
  end,
};

struct Scanned {
  JsonToken type = JsonToken::end;
  Span span;
};

constexpr std::size_t most_diagnostics = 20;

constexpr std::string_view number_bytes = "-+.0123456789";

JsonToken punctuation(char c) {
  static constexpr std::pair<char, JsonToken> tokens[]
      = {{'{', JsonToken::open_brace},   {'}', JsonToken::close_brace},
         {'[', JsonToken::open_bracket}, {']', JsonToken::close_bracket},
         {',', JsonToken::comma},        {':', JsonToken::colon},
         {'=', JsonToken::equals}};
  for (const auto& [symbol, type] : tokens)
    if (symbol == c) return type;
  return JsonToken::invalid;
}

/// Lax about what is inside numbers, strings and keywords: the parser tells better what is wrong.
std::vector<Scanned> scan(std::string_view text) {
  std::vector<Scanned> out;
  std::size_t at = 0;
  const auto add = [&](JsonToken type, std::size_t end) {
    out.push_back({type, {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(end)}});
    at = end;
  };
  for (;;) {
    at = std::min(text.find_first_not_of(" \t\r\n", at), text.size());
    if (at == text.size()) break;
    const char c = text[at];
    if (c == '"') {
      std::size_t end = at + 1;
      while (end < text.size() && text[end] != '"' && static_cast<unsigned char>(text[end]) >= 32)
        end += text[end] == '\\' && end + 1 < text.size()
                       && (text[end + 1] == '"' || text[end + 1] == '\\')
                   ? 2
                   : 1;
      add(JsonToken::string, end < text.size() && text[end] == '"' ? end + 1 : end);
    } else if (number_bytes.find(c) != std::string_view::npos) {
      add(JsonToken::number, std::min(text.find_first_not_of("-+.0123456789eE", at), text.size()));
    } else if (is_letter(c)) {
      std::size_t end = at;
      while (end < text.size() && (is_letter(text[end]) || text[end] == '_'))
        ++end;
      add(JsonToken::keyword, end);
    } else if (const JsonToken type = punctuation(c); type != JsonToken::invalid) {
      add(type, at + 1);
    } else {
      add(JsonToken::invalid, at + 1);
      break;  // the parser does not go beyond this point
    }
  }
  add(JsonToken::end, at);
  return out;
}

/// Appends what the literal `text`, quotes included, stands for. On a mistake answers how many
/// bytes were read when it showed.
std::optional<std::size_t> unescape(std::string_view text, std::string& out) {
  std::size_t at = 1;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') return at + 1 == text.size() ? std::nullopt : std::optional{at + 2};
    if (static_cast<unsigned char>(c) < 0x20) return at + 1;
    if (c != '\\') {
      const CodePoint point = decode_utf8(text, at);
      append_utf8(out, point.value);
      at += point.length;
    } else if (!take_json_escape(text, ++at, out)) {
      return std::min(at + 1, text.size());
    }
  }
  return at;
}

class JsonParser {
public:
  JsonParser(TreeBuilder& builder, Diagnostics& diagnostics)
      : builder_{builder},
        source_{builder.file()->source()},
        diagnostics_{diagnostics},
        tokens_{scan(source_.text())} {}

  const JsonNode* run() {
    const JsonNode* root = value();
    if (diagnostics_.empty() && peek().type != JsonToken::end)
      error(peek().span, "Extraneous data after value",
            "Extra characters appear after the JSON value.");
    if (root->kind == JsonNode::Kind::object || root->kind == JsonNode::Kind::array) return root;
    error(root->start(), "Root value must be object",
          "The root value in a JSON-based configuration must be either a JSON object or a JSON "
          "array of "
          "objects.");
    JsonNode empty;
    empty.kind = JsonNode::Kind::object;
    return builder_.arena().make(empty);
  }

private:
  Scanned peek() const { return tokens_[next_]; }

  Scanned read() {
    const Scanned token = tokens_[next_];
    if (token.type != JsonToken::end) ++next_;
    return token;
  }

  std::string_view text(Span span) const { return source_.text(span); }

  /// Each mistake has a copy of its line, and its columns are counted from there: a long line full
  /// of mistakes would take their product.
  bool has_said_enough() const { return diagnostics_.size() >= most_diagnostics; }

  void error(Span span, std::string summary, std::string detail) {
    if (has_said_enough()) return;
    diagnostics_.push_back(error_at(source_, span, std::move(summary), std::move(detail)));
  }

  const JsonNode* keep(JsonNode node) { return builder_.arena().make(node); }

  /// A placeholder for what could not be read.
  const JsonNode* invalid(Span span) {
    JsonNode node;
    node.span = span;
    return keep(node);
  }

  const JsonNode* fail(Span span, Span at, std::string summary, std::string detail) {
    error(at, std::move(summary), std::move(detail));
    return invalid(span);
  }

  const JsonNode* value() {
    constexpr const char* must_start
        = "A JSON value must start with a brace, a bracket, a number, a string, or a keyword.";
    const Scanned token = peek();
    switch (token.type) {
      case JsonToken::open_brace:
      case JsonToken::open_bracket:
        return nested(token);
      case JsonToken::number:
        return number();
      case JsonToken::string:
        return string();
      case JsonToken::keyword:
        return keyword();
      case JsonToken::close_brace:
        return fail(token.span, token.span, "Missing JSON value", must_start);
      case JsonToken::close_bracket:
        return fail(token.span, token.span, "Missing array element value", must_start);
      case JsonToken::end:
        return fail(token.span, token.span, "Missing value", "The JSON data ends prematurely.");
      case JsonToken::comma:
      case JsonToken::colon:
      case JsonToken::equals:
      case JsonToken::invalid:
        break;
    }
    return fail(token.span, token.span, "Invalid start of value", must_start);
  }

  const JsonNode* nested(Scanned token) {
    if (depth_ >= max_height) {
      next_ = tokens_.size() - 1;
      return fail(
          token.span, token.span, "Nesting too deep",
          "JSON values may be nested at most " + std::to_string(max_height) + " levels deep.");
    }
    ++depth_;
    const JsonNode* out = token.type == JsonToken::open_brace ? object() : array();
    --depth_;
    return out;
  }

  /// Skips to what looks like the end of the object or array that `token` is in.
  void recover(Scanned token, JsonToken open, JsonToken close) {
    for (int nested = 1;; token = read()) {
      if (token.type == open)
        ++nested;
      else if (token.type == close && --nested <= 1)
        return;
      else if (token.type == JsonToken::end)
        return;
    }
  }

  void recover_object(Scanned token) {
    recover(token, JsonToken::open_brace, JsonToken::close_brace);
  }

  void recover_array(Scanned token) {
    recover(token, JsonToken::open_bracket, JsonToken::close_bracket);
  }

  JsonExpr expression(const JsonNode* node) const {
    JsonExpr expr{};
    expr.height = 1;
    expr.span = node->span;
    expr.file = builder_.file();
    expr.node = node;
    return expr;
  }

  const JsonNode* missing_colon(Span open, Scanned token) {
    recover_object(token);
    if (token.type == JsonToken::close_brace || token.type == JsonToken::comma)
      return fail(open, token.span, "Missing object value",
                  "A JSON object attribute must have a value, introduced by a colon.");
    constexpr const char* summary = "Missing property value colon";
    if (token.type == JsonToken::equals)
      return fail(open, token.span, summary,
                  "JSON uses a colon as its name/value delimiter, not an equals sign.");
    return fail(open, token.span, summary,
                "A colon must appear between an object property's name and its value.");
  }

  const JsonNode* object() {
    const Span open = read().span;
    std::vector<JsonProperty> properties;
    while (peek().type != JsonToken::close_brace) {
      const JsonNode* key = value();
      if (key->kind != JsonNode::Kind::string)
        return fail(open, key->start(), "Invalid object property name",
                    "A JSON object property name must be a string");
      const Scanned colon = read();
      if (colon.type != JsonToken::colon) return missing_colon(open, colon);
      const JsonNode* content = value();
      properties.push_back({key->text, key->span, expression(key), expression(content)});
      if (const JsonNode* wrong = after_property(open)) return wrong;
    }
    JsonNode node;
    node.kind = JsonNode::Kind::object;
    node.open = open;
    node.close = read().span;
    node.span = cover(open, node.close);
    node.properties = builder_.arena().copy(properties);
    return keep(node);
  }

  /// Null when the object may go on or end here.
  const JsonNode* after_property(Span open) {
    switch (peek().type) {
      case JsonToken::close_brace:
        return nullptr;
      case JsonToken::comma: {
        const Scanned comma = read();
        if (peek().type != JsonToken::close_brace) return nullptr;
        return fail(open, comma.span, "Trailing comma in object",
                    "JSON does not permit a trailing comma after the final property in an object.");
      }
      case JsonToken::end:
        return fail(open, open, "Unclosed object",
                    "No closing brace was found for this JSON object.");
      case JsonToken::close_bracket:
        read();
        return fail(open, peek().span, "Mismatched braces",
                    "A JSON object must be closed with a brace, not a bracket.");
      default:
        recover_object(read());
        return fail(open, peek().span, "Missing attribute seperator comma",
                    "A comma must appear between each property definition in an object.");
    }
  }

  const JsonNode* array() {
    const Span open = read().span;
    std::vector<JsonExpr> elements;
    while (peek().type != JsonToken::close_bracket) {
      elements.push_back(expression(value()));
      if (const JsonNode* wrong = after_element(open)) return wrong;
    }
    JsonNode node;
    node.kind = JsonNode::Kind::array;
    node.open = open;
    node.close = read().span;
    node.span = cover(open, node.close);
    node.element_exprs = builder_.arena().copy(elements);
    return keep(node);
  }

  const JsonNode* after_element(Span open) {
    switch (peek().type) {
      case JsonToken::close_bracket:
        return nullptr;
      case JsonToken::comma: {
        const Scanned comma = read();
        if (peek().type != JsonToken::close_bracket) return nullptr;
        return fail(open, comma.span, "Trailing comma in array",
                    "JSON does not permit a trailing comma after the final value in an array.");
      }
      case JsonToken::colon:
        recover_array(read());
        return fail(open, peek().span, "Invalid array value",
                    "A colon is not used to introduce values in a JSON array.");
      case JsonToken::end:
        return fail(open, open, "Unclosed object",
                    "No closing bracket was found for this JSON array.");
      case JsonToken::close_brace:
        recover_array(read());
        return fail(open, peek().span, "Mismatched brackets",
                    "A JSON array must be closed with a bracket, not a brace.");
      default:
        recover_array(read());
        return fail(open, peek().span, "Missing attribute seperator comma",
                    "A comma must appear between each value in an array.");
    }
  }

  const JsonNode* number() {
    const Span span = read().span;
    auto number = is_json_number(text(span)) ? Number::parse(text(span)) : std::nullopt;
    if (!number)
      return fail(span, span, "Invalid JSON number",
                  "There is a syntax error in the given JSON number.");
    JsonNode node;
    node.kind = JsonNode::Kind::number;
    node.span = span;
    node.value = builder_.arena().keep(Value::number(std::move(*number)));
    return keep(node);
  }

  const JsonNode* string() {
    const Span span = read().span;
    std::string out;
    if (const auto wrong = unescape(text(span), out)) {
      if (has_said_enough()) return invalid(span);
      // The place is counted in bytes from the opening quote.
      const auto offset = static_cast<std::uint32_t>(*wrong);
      Diagnostic diagnostic = error_at(source_, {span.begin, span.begin}, "Invalid JSON string",
                                       "There is a syntax error in the given JSON string.");
      Position& at = diagnostic.subject->start;
      at.column += offset;
      at.byte += offset;
      diagnostic.subject->end = {at.line, at.column + 1, at.byte + 1};
      diagnostics_.push_back(std::move(diagnostic));
      return invalid(span);
    }
    JsonNode node;
    node.kind = JsonNode::Kind::string;
    node.span = span;
    const std::string_view raw = text({span.begin + 1, span.end - 1});
    node.text = raw == out ? raw : builder_.arena().copy(out);
    return keep(node);
  }

  const JsonNode* keyword() {
    const Span span = read().span;
    const std::string_view word = text(span);
    JsonNode node;
    node.span = span;
    if (word == "null") {
      node.kind = JsonNode::Kind::null;
      return keep(node);
    }
    if (word == "true" || word == "false") {
      node.kind = JsonNode::Kind::boolean;
      node.value = builder_.arena().keep(Value::boolean(word == "true"));
      return keep(node);
    }
    constexpr const char* summary = "Invalid JSON keyword";
    if (word == "undefined" || word == "NaN" || word == "Infinity")
      return fail(span, span, summary,
                  "The JavaScript identifier " + quote(word) + " cannot be used in JSON.");
    const std::string_view near = name_suggestion(word, {"false", "true", "null"});
    return fail(span, span, summary,
                quote(word) + " is not a valid JSON keyword."
                    + (near.empty() ? "" : " Did you mean " + quote(near) + "?"));
  }

  TreeBuilder& builder_;
  const Source& source_;
  Diagnostics& diagnostics_;
  std::vector<Scanned> tokens_;
  std::size_t next_ = 0;
  std::uint16_t depth_ = 0;
};

}  // namespace

const JsonNode* parse_json_tree(TreeBuilder& builder, Diagnostics& diagnostics) {
  return JsonParser{builder, diagnostics}.run();
}

}  // namespace nomad::hcl
