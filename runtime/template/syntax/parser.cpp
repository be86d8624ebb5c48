#include "runtime/template/syntax/parser.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/base/text.hpp"
#include "runtime/text/number_text.hpp"

namespace nomad::templates {
namespace {

class Parser {
public:
  Parser(std::string_view name, std::string_view text, const ParseOptions& options)
      : name_{name}, options_{options}, lexer_{text, options.delimiters} {}

  Result<TreeSet> parse() {
    Node root{.kind = NodeKind::list, .position = peek().position};
    while (peek().type != TokenType::end_of_text) {
      if (peek().type == TokenType::left_delimiter) {
        Token delimiter = next();
        if (next_word().type == TokenType::define) {
          NOMAD_TRY(definition());
          continue;
        }
        back_up(std::move(delimiter));
      }
      Node node = NOMAD_TRY(text_or_action());
      if (is_mark(node)) return fail("unexpected " + node.shown());
      root.nodes.push_back(std::move(node));
    }
    NOMAD_TRY(add(name_, std::move(root)));
    return std::move(trees_);
  }

private:
  /// What belongs to the tree that is being parsed, and not to those around it.
  struct Frame {
    std::vector<std::string> variables{"$"};
    int ranges = 0;
  };

  static bool is_mark(const Node& node) {
    return node.kind == NodeKind::end_mark || node.kind == NodeKind::else_mark;
  }

  // Three tokens can be given back; the line of messages is that of the last one read.

  Token next() {
    if (given_back_ > 0)
      --given_back_;
    else
      tokens_[0] = read();
    return tokens_[given_back_];
  }

  /// `break` and `continue` are words like others where functions have these names.
  Token read() {
    Token token = lexer_.next();
    if ((token.type == TokenType::break_ || token.type == TokenType::continue_)
        && options_.has_function(token.value))
      token.type = TokenType::identifier;
    return token;
  }

  void back_up() { ++given_back_; }

  void back_up(Token earlier) {
    tokens_[1] = std::move(earlier);
    given_back_ = 2;
  }

  void back_up(Token earliest, Token earlier) {
    tokens_[1] = std::move(earlier);
    tokens_[2] = std::move(earliest);
    given_back_ = 3;
  }

  const Token& peek() {
    if (given_back_ > 0) return tokens_[given_back_ - 1];
    given_back_ = 1;
    tokens_[0] = read();
    return tokens_[0];
  }

  Token next_word() {
    for (;;) {
      Token token = next();
      if (token.type != TokenType::space) return token;
    }
  }

  const Token& peek_word() {
    next_word();
    back_up();
    return tokens_[given_back_ - 1];
  }

  Error fail(const std::string& what) const {
    return {Errc::invalid_argument, "template: " + std::string{name_} + ':'
                                        + std::to_string(tokens_[0].line) + ": " + what};
  }

  Error unexpected(const Token& token, std::string_view context) const {
    if (token.type != TokenType::error)
      return fail("unexpected " + token.shown() + " in " + std::string{context});
    std::string where;
    if (action_line_ != 0 && action_line_ != token.line) {
      where = token.value.ends_with(" action") ? " started at " : " in action started at ";
      where += std::string{name_} + ':' + std::to_string(action_line_);
    }
    return fail(token.shown() + where);
  }

  Result<Token> expect(TokenType type, std::string_view context) {
    Token token = next_word();
    if (token.type != type) return unexpected(token, context);
    return token;
  }

  Result<void> add(std::string_view name, Node tree) {
    const auto known = trees_.find(name);
    if (known == trees_.end() || is_empty_tree(known->second)) {
      trees_.insert_or_assign(std::string{name}, std::move(tree));
      return {};
    }
    if (is_empty_tree(tree)) return {};
    return fail("template: multiple definition of template " + quote(name));
  }

  Result<void> definition() {
    constexpr std::string_view context = "define clause";
    const Token token = next_word();
    const std::string name = NOMAD_TRY(template_name(token, context));
    NOMAD_TRY(expect(TokenType::right_delimiter, context));
    return named_tree(name, context);
  }

  /// What is between `define` or `block` and its end, as a tree of its own.
  Result<void> named_tree(std::string_view name, std::string_view context) {
    Frame outer = std::exchange(frame_, Frame{});
    const std::uint32_t line = std::exchange(action_line_, 0);
    auto [list, mark] = NOMAD_TRY(item_list());
    frame_ = std::move(outer);
    action_line_ = line;
    if (mark.kind != NodeKind::end_mark)
      return fail("unexpected " + mark.shown() + " in " + std::string{context});
    return add(name, std::move(list));
  }

  Result<std::string> template_name(const Token& token, std::string_view context) {
    if (token.type != TokenType::string && token.type != TokenType::raw_string)
      return unexpected(token, context);
    auto name = unquote(token.value);
    if (!name) return fail("invalid syntax");
    return *std::move(name);
  }

  Result<std::pair<Node, Node>> item_list() {
    Node list{.kind = NodeKind::list, .position = peek_word().position};
    while (peek_word().type != TokenType::end_of_text) {
      Node node = NOMAD_TRY(text_or_action());
      if (is_mark(node)) return std::pair{std::move(list), std::move(node)};
      list.nodes.push_back(std::move(node));
    }
    return fail("unexpected EOF");
  }

  Result<Node> text_or_action() {
    Token token = next_word();
    if (token.type == TokenType::text)
      return Node{
          .kind = NodeKind::text, .position = token.position, .text = std::move(token.value)};
    if (token.type != TokenType::left_delimiter) return unexpected(token, "input");
    action_line_ = token.line;
    auto node = action();
    action_line_ = 0;
    return node;
  }

  Result<Node> action() {
    const Token token = next_word();
    switch (token.type) {
      case TokenType::block:
        return nested([this] { return block(); });
      case TokenType::break_:
        return loop_control(token, NodeKind::break_);
      case TokenType::continue_:
        return loop_control(token, NodeKind::continue_);
      case TokenType::else_:
        return else_mark();
      case TokenType::end: {
        const Token end = NOMAD_TRY(expect(TokenType::right_delimiter, "end"));
        return Node{.kind = NodeKind::end_mark, .position = end.position};
      }
      case TokenType::if_:
        return nested([this] { return control(NodeKind::if_, "if"); });
      case TokenType::range:
        return nested([this] { return control(NodeKind::range, "range"); });
      case TokenType::with:
        return nested([this] { return control(NodeKind::with, "with"); });
      case TokenType::template_:
        return template_action();
      default:
        break;
    }
    back_up();
    Node node{.kind = NodeKind::action, .position = peek().position};
    node.nodes.push_back(NOMAD_TRY(pipeline("command", TokenType::right_delimiter)));
    return node;
  }

  /// One level deeper, if there may be one.
  template <class Parse>
  Result<Node> nested(Parse parse) {
    if (nesting_ >= max_nesting) return fail("actions are nested too deep");
    ++nesting_;
    auto node = parse();
    --nesting_;
    return node;
  }

  Result<Node> loop_control(const Token& token, NodeKind kind) {
    const Node node{.kind = kind, .position = token.position};
    const Token following = next_word();
    if (following.type != TokenType::right_delimiter) return unexpected(following, node.shown());
    if (frame_.ranges == 0) return fail(node.shown() + " outside {{range}}");
    return node;
  }

  Result<Node> else_mark() {
    const Token token = peek_word();
    if (token.type != TokenType::if_) NOMAD_TRY(expect(TokenType::right_delimiter, "else"));
    return Node{.kind = NodeKind::else_mark, .position = token.position};
  }

  Result<Node> control(NodeKind kind, std::string_view context) {
    const std::size_t variables = frame_.variables.size();
    Node pipe = NOMAD_TRY(pipeline(context, TokenType::right_delimiter));
    Node node{.kind = kind, .position = pipe.position};
    node.nodes.push_back(std::move(pipe));
    if (kind == NodeKind::range) ++frame_.ranges;
    auto [list, mark] = NOMAD_TRY(item_list());
    if (kind == NodeKind::range) --frame_.ranges;
    node.nodes.push_back(std::move(list));
    if (mark.kind == NodeKind::else_mark) {
      if (kind == NodeKind::if_ && peek().type == TokenType::if_) {
        next();
        Node chained{.kind = NodeKind::list, .position = mark.position};
        chained.nodes.push_back(NOMAD_TRY(nested([this] { return control(NodeKind::if_, "if"); })));
        node.nodes.push_back(std::move(chained));
      } else {
        auto [otherwise, end] = NOMAD_TRY(item_list());
        if (end.kind != NodeKind::end_mark) return fail("expected end; found " + end.shown());
        node.nodes.push_back(std::move(otherwise));
      }
    }
    frame_.variables.resize(variables);
    return node;
  }

  Result<Node> block() {
    constexpr std::string_view context = "block clause";
    const Token token = next_word();
    const std::string name = NOMAD_TRY(template_name(token, context));
    Node node{.kind = NodeKind::template_, .position = token.position, .text = name};
    node.nodes.push_back(NOMAD_TRY(pipeline(context, TokenType::right_delimiter)));
    NOMAD_TRY(named_tree(name, context));
    return node;
  }

  Result<Node> template_action() {
    constexpr std::string_view context = "template clause";
    const Token token = next_word();
    Node node{.kind = NodeKind::template_, .position = token.position};
    node.text = NOMAD_TRY(template_name(token, context));
    if (next_word().type != TokenType::right_delimiter) {
      back_up();
      node.nodes.push_back(NOMAD_TRY(pipeline(context, TokenType::right_delimiter)));
    }
    return node;
  }

  /// The variables that a pipeline declares or sets.
  Result<void> declarations(Node& pipe, std::string_view context) {
    while (peek_word().type == TokenType::variable) {
      Token variable = next();
      Token after = peek();
      const Token following = peek_word();
      const bool comma = following.type == TokenType::character && following.value == ",";
      if (following.type == TokenType::assign || following.type == TokenType::declare || comma) {
        pipe.is_assignment = following.type == TokenType::assign;
        next_word();
        pipe.names.push_back(variable.value.substr(0, variable.value.find('.')));
        frame_.variables.push_back(std::move(variable.value));
      } else if (after.type == TokenType::space) {
        back_up(std::move(variable), std::move(after));
      } else {
        back_up(std::move(variable));
      }
      if (!comma) return {};
      if (context != "range" || pipe.names.size() >= 2)
        return fail("too many declarations in " + std::string{context});
      const TokenType type = peek_word().type;
      if (type != TokenType::variable && type != TokenType::right_delimiter
          && type != TokenType::right_paren)
        return fail("range can only initialize variables");
    }
    return {};
  }

  Result<Node> pipeline(std::string_view context, TokenType end) {
    Node pipe{.kind = NodeKind::pipeline, .position = peek_word().position};
    NOMAD_TRY(declarations(pipe, context));
    for (;;) {
      const Token token = next_word();
      if (token.type == end) {
        NOMAD_TRY(check_pipeline(pipe, context));
        return pipe;
      }
      if (!starts_operand(token.type)) return unexpected(token, context);
      back_up();
      pipe.nodes.push_back(NOMAD_TRY(command()));
    }
  }

  static bool starts_operand(TokenType type) {
    constexpr std::array<TokenType, 12> starts{TokenType::boolean,    TokenType::character_constant,
                                               TokenType::complex,    TokenType::dot,
                                               TokenType::field,      TokenType::identifier,
                                               TokenType::number,     TokenType::nil,
                                               TokenType::raw_string, TokenType::string,
                                               TokenType::variable,   TokenType::left_paren};
    return std::ranges::find(starts, type) != starts.end();
  }

  Result<void> check_pipeline(const Node& pipe, std::string_view context) const {
    if (pipe.nodes.empty()) return fail("missing value for " + std::string{context});
    for (std::size_t i = 1; i < pipe.nodes.size(); ++i) {
      const NodeKind kind = pipe.nodes[i].nodes[0].kind;
      if (kind == NodeKind::boolean || kind == NodeKind::dot || kind == NodeKind::nil
          || kind == NodeKind::number || kind == NodeKind::string)
        return fail("non executable command in pipeline stage " + std::to_string(i + 1));
    }
    return {};
  }

  Result<Node> command() {
    Node node{.kind = NodeKind::command, .position = peek_word().position};
    for (;;) {
      peek_word();
      auto operand = NOMAD_TRY(this->operand());
      if (operand) node.nodes.push_back(*std::move(operand));
      const Token token = next();
      if (token.type == TokenType::space) continue;
      if (token.type == TokenType::right_delimiter || token.type == TokenType::right_paren)
        back_up();
      else if (token.type != TokenType::pipe)
        return unexpected(token, "operand");
      return node;
    }
  }

  Result<std::optional<Node>> operand() {
    auto node = NOMAD_TRY(term());
    if (!node || peek().type != TokenType::field) return node;
    Node chain{.kind = NodeKind::chain, .position = peek().position};
    while (peek().type == TokenType::field)
      chain.names.push_back(next().value.substr(1));
    switch (node->kind) {
      case NodeKind::field:
      case NodeKind::variable:
        node->position = chain.position;
        std::ranges::move(chain.names, std::back_inserter(node->names));
        return node;
      case NodeKind::boolean:
      case NodeKind::string:
      case NodeKind::number:
      case NodeKind::nil:
      case NodeKind::dot:
        return fail("unexpected . after term " + quote(node->shown()));
      default:
        chain.nodes.push_back(*std::move(node));
        return std::optional{std::move(chain)};
    }
  }

  Result<std::optional<Node>> term() {
    Token token = next_word();
    const auto node = [&token](NodeKind kind) {
      return Node{.kind = kind, .position = token.position, .text = token.value};
    };
    switch (token.type) {
      case TokenType::identifier:
        if (!options_.has_function(token.value))
          return fail("function " + quote(token.value) + " not defined");
        return std::optional{node(NodeKind::identifier)};
      case TokenType::dot:
        return std::optional{node(NodeKind::dot)};
      case TokenType::nil:
        return std::optional{node(NodeKind::nil)};
      case TokenType::variable: {
        if (std::ranges::find(frame_.variables, token.value) == frame_.variables.end())
          return fail("undefined variable " + quote(token.value));
        Node out = node(NodeKind::variable);
        out.names.push_back(token.value);
        return std::optional{std::move(out)};
      }
      case TokenType::field: {
        Node out = node(NodeKind::field);
        out.names.push_back(token.value.substr(1));
        return std::optional{std::move(out)};
      }
      case TokenType::boolean: {
        Node out = node(NodeKind::boolean);
        out.constant = constant(Value::boolean(token.value == "true"));
        return std::optional{std::move(out)};
      }
      case TokenType::character_constant:
      case TokenType::complex:
      case TokenType::number: {
        Node out = NOMAD_TRY(number(token));
        return std::optional{std::move(out)};
      }
      case TokenType::left_paren: {
        Node out = NOMAD_TRY(
            nested([this] { return pipeline("parenthesized pipeline", TokenType::right_paren); }));
        return std::optional{std::move(out)};
      }
      case TokenType::string:
      case TokenType::raw_string: {
        auto text = unquote(token.value);
        if (!text) return fail("invalid syntax");
        Node out = node(NodeKind::string);
        out.constant = constant(Value::text(*std::move(text)));
        return std::optional{std::move(out)};
      }
      default:
        back_up();
        return std::optional<Node>{};
    }
  }

  static std::shared_ptr<const Constant> constant(Value value, const Number& number = {}) {
    return std::make_shared<const Constant>(Constant{std::move(value), number});
  }

  Result<Node> number(const Token& token) const {
    Node node{.kind = NodeKind::number, .position = token.position, .text = token.value};
    Number number;
    if (token.type == TokenType::complex || token.value.back() == 'i')
      return fail("complex numbers are not supported: " + quote(token.value));
    if (token.type == TokenType::character_constant) {
      const auto c = unquote_character(token.value);
      if (!c) return fail("malformed character constant: " + token.value);
      number = {true, true, true, static_cast<std::int64_t>(*c), *c, static_cast<double>(*c)};
      node.constant = constant(Value::integer(number.integer), number);
      return node;
    }
    const auto natural = parse_natural(token.value, 0);
    const auto integer = parse_integer(token.value, 0);
    number.is_natural = !natural.fault || (!integer.fault && integer.value == 0);
    number.natural = natural.fault ? 0 : natural.value;
    number.is_integer = !integer.fault;
    number.integer = integer.value;
    number.is_number = number.is_integer || number.is_natural;
    number.number = number.is_integer ? static_cast<double>(number.integer)
                                      : static_cast<double>(number.natural);
    const bool has_point = token.value.find_first_of(".eEpP") != std::string::npos;
    if (!number.is_number) NOMAD_TRY(fractional(token, has_point, number));
    const bool is_hex = token.value.size() > 2 && token.value[0] == '0'
                        && to_lower(token.value[1]) == 'x'
                        && token.value.find_first_of("pP") == std::string::npos;
    Value value;
    if (has_point && !is_hex)
      value = Value::number(number.number);
    else if (number.is_integer)
      value = Value::integer(number.integer);
    node.constant = constant(std::move(value), number);
    return node;
  }

  Result<void> fractional(const Token& token, bool has_point, Number& number) const {
    const auto found = parse_number(token.value);
    if (found.fault) return fail("illegal number syntax: " + quote(token.value));
    if (!has_point) return fail("integer overflow: " + quote(token.value));
    number.is_number = true;
    number.number = found.value;
    constexpr double limit = 9223372036854775808.0;
    if (std::trunc(found.value) != found.value) return {};
    if (found.value >= -limit && found.value < limit) {
      number.is_integer = true;
      number.integer = static_cast<std::int64_t>(found.value);
    }
    if (found.value >= 0 && found.value < 2 * limit) {
      number.is_natural = true;
      number.natural = static_cast<std::uint64_t>(found.value);
    }
    return {};
  }

  std::string_view name_;
  const ParseOptions& options_;
  Lexer lexer_;
  std::array<Token, 3> tokens_;
  std::size_t given_back_ = 0;
  std::uint32_t action_line_ = 0;
  int nesting_ = 0;
  Frame frame_;
  TreeSet trees_;
};

}  // namespace

bool is_empty_tree(const Node& tree) {
  if (tree.kind == NodeKind::text) return trim(tree.text).empty();
  return tree.kind == NodeKind::list && std::ranges::all_of(tree.nodes, is_empty_tree);
}

Result<TreeSet> parse_template(std::string_view name,
                               std::string_view text,
                               const ParseOptions& options) {
  return Parser{name, text, options}.parse();
}

}  // namespace nomad::templates
