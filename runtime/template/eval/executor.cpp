#include "runtime/template/eval/executor.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/text.hpp"
#include "runtime/template/value/format.hpp"

namespace nomad::templates {
namespace {

/// An item of a list or map whose items are of that type.
Value boxed(Value item, const Type& element) {
  item.set_boxed(element.kind == Kind::any);
  return item;
}

/// The type that messages name.
std::string shown_type(const Value& value) {
  return std::string{value.is_boxed() ? types::any.name : type_name(value)};
}

bool may_be_nil(const Type& type) {
  return type.kind == Kind::any || type.kind == Kind::list || type.kind == Kind::map
         || type.kind == Kind::function || type.is_pointer;
}

}  // namespace

Error Executor::fail(const std::string& what) const {
  const std::string_view before
      = std::string_view{template_.text_}.substr(0, node_ == nullptr ? 0 : node_->position);
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t last = before.rfind('\n');
  const std::size_t column
      = last == std::string_view::npos ? before.size() : before.size() - last - 1;
  return {Errc::invalid_argument, "template: " + template_.name_ + ':' + std::to_string(line) + ':'
                                      + std::to_string(column) + ": executing " + quote(name_)
                                      + " at <" + (node_ == nullptr ? "" : node_->shown())
                                      + ">: " + what};
}

Error Executor::fail_at(const Node& node, const std::string& what) {
  node_ = &node;
  return fail(what);
}

Result<void> Executor::write(std::string_view text) {
  if (text.size() > context_.limits().output - std::min(out_.size(), context_.limits().output))
    return Error{Errc::too_large, fail("the text gets longer than "
                                       + std::to_string(context_.limits().output) + " bytes")
                                      .what};
  out_ += text;
  return {};
}

Result<void> Executor::enter() {
  if (context_.depth >= context_.limits().depth)
    return Error{Errc::too_large, fail("exceeded maximum template depth ("
                                       + std::to_string(context_.limits().depth) + ")")
                                      .what};
  auto paid = context_.step();
  if (!paid) return Error{paid.error().code, fail(paid.error().what).what};
  ++context_.depth;
  return {};
}

Result<void> Executor::run(std::string_view name, const Value& data) {
  const auto found = template_.trees_.find(name);
  name_ = name;
  variables_ = {{"$", data}};
  NOMAD_TRY(walk_list(data, found->second));
  return {};
}

Result<Flow> Executor::walk_list(const Value& dot, const Node& list) {
  NOMAD_TRY(enter());
  Result<Flow> flow = Flow::on;
  for (const Node& node : list.nodes) {
    flow = walk(dot, node);
    if (!flow || *flow != Flow::on) break;
  }
  leave();
  return flow;
}

Result<Flow> Executor::walk(const Value& dot, const Node& node) {
  node_ = &node;
  switch (node.kind) {
    case NodeKind::text:
      NOMAD_TRY(write(node.text));
      return Flow::on;
    case NodeKind::action: {
      const Value value = NOMAD_TRY(pipeline(dot, node.nodes[0]));
      if (!node.nodes[0].names.empty()) return Flow::on;
      node_ = &node;
      if (value.kind() == Kind::function || value.type() == &types::int64_channel)
        return fail("can't print " + node.shown() + " of type " + std::string{type_name(value)});
      auto text = print_value(value, context_.limits().output - out_.size());
      if (!text) return Error{text.error().code, fail(text.error().what).what};
      NOMAD_TRY(write(*text));
      return Flow::on;
    }
    case NodeKind::if_:
    case NodeKind::with:
      return walk_branch(dot, node);
    case NodeKind::range:
      return walk_range(dot, node);
    case NodeKind::template_:
      NOMAD_TRY(walk_template(dot, node));
      return Flow::on;
    case NodeKind::break_:
      return Flow::break_;
    case NodeKind::continue_:
      return Flow::continue_;
    default:
      return fail("unknown node: " + node.shown());
  }
}

Result<Flow> Executor::walk_branch(const Value& dot, const Node& node) {
  const std::size_t mark = variables_.size();
  const Value value = NOMAD_TRY(pipeline(dot, node.nodes[0]));
  Result<Flow> flow = Flow::on;
  if (value.is_true())
    flow = walk_list(node.kind == NodeKind::with ? value : dot, node.nodes[1]);
  else if (node.nodes.size() > 2)
    flow = walk_list(dot, node.nodes[2]);
  variables_.resize(mark);
  return flow;
}

Result<Flow> Executor::iterate(const Node& node, const Value& key, const Value& item) {
  const Node& pipe = node.nodes[0];
  const std::size_t mark = variables_.size();
  if (pipe.is_assignment) {
    if (pipe.names.size() == 1) *variable(pipe.names[0]) = item;
    if (pipe.names.size() == 2) {
      *variable(pipe.names[0]) = key;
      *variable(pipe.names[1]) = item;
    }
  } else if (!pipe.names.empty()) {
    variables_[mark - 1].value = item;
    if (pipe.names.size() > 1) variables_[mark - 2].value = key;
  }
  auto flow = walk_list(item, node.nodes[1]);
  variables_.resize(mark);
  return flow;
}

Result<Flow> Executor::walk_range(const Value& dot, const Node& node) {
  const std::size_t mark = variables_.size();
  const Value value = NOMAD_TRY(pipeline(dot, node.nodes[0]));
  if (value.is_nil() && !value.is_invalid() && value.type()->is_pointer)
    return fail("range can't iterate over " + shown(value));
  const bool has_items = value.kind() == Kind::list || value.kind() == Kind::map;
  if (!has_items && !value.is_invalid()) return fail("range can't iterate over " + shown(value));
  Result<Flow> flow = Flow::on;
  if (value.size() == 0) {
    if (node.nodes.size() > 2) flow = walk_list(dot, node.nodes[2]);
  } else if (value.kind() == Kind::list) {
    for (std::size_t i = 0; i < value.items().size(); ++i) {
      flow = iterate(node, Value::integer(static_cast<std::int64_t>(i)),
                     boxed(value.items()[i], *value.type()->element));
      if (!flow || *flow == Flow::break_) break;
    }
  } else {
    // A copy: what is done for an entry may change the map.
    NOMAD_TRY(context_.step(value.size()));
    const std::vector<std::pair<Value, Value>> entries{value.entries().begin(),
                                                       value.entries().end()};
    for (const auto& [key, item] : entries) {
      flow = iterate(node, boxed(key, *value.type()->key), boxed(item, *value.type()->element));
      if (!flow || *flow == Flow::break_) break;
    }
  }
  variables_.resize(mark);
  if (flow && value.size() != 0) return Flow::on;
  return flow;
}

Result<void> Executor::walk_template(const Value& dot, const Node& node) {
  const auto found = template_.trees_.find(node.text);
  if (found == template_.trees_.end()) return fail("template " + quote(node.text) + " not defined");
  Value data;
  if (!node.nodes.empty()) data = NOMAD_TRY(pipeline(dot, node.nodes[0]));
  auto variables = std::exchange(variables_, {{"$", data}});
  const auto name = std::exchange(name_, found->first);
  NOMAD_TRY(walk_list(data, found->second));
  variables_ = std::move(variables);
  name_ = name;
  return {};
}

Value* Executor::variable(std::string_view name) {
  for (std::size_t i = variables_.size(); i-- > 0;)
    if (variables_[i].name == name) {
      context_.work().note(variables_.size() - i);
      return &variables_[i].value;
    }
  return nullptr;  // The parser has seen that there is one.
}

Result<Value> Executor::pipeline(const Value& dot, const Node& pipe) {
  node_ = &pipe;
  NOMAD_TRY(enter());
  Final value;
  for (const Node& command : pipe.nodes) {
    value = NOMAD_TRY(this->command(dot, command, value));
    value->set_boxed(false);
  }
  for (const auto& name : pipe.names) {
    if (pipe.is_assignment) {
      Value* known = variable(name);
      if (known == nullptr) return fail("undefined variable: " + name);
      *known = *value;
    } else {
      variables_.push_back({name, *value});
    }
  }
  leave();
  return *std::move(value);
}

Result<void> Executor::no_function(const Node& first, std::size_t count, const Final& final) const {
  if (count <= 1 && !final) return {};
  return fail("can't give argument to non-function " + first.shown());
}

Result<Value> Executor::command(const Value& dot, const Node& command, const Final& final) {
  const Node& first = command.nodes[0];
  const std::span<const Node> arguments = command.nodes;
  switch (first.kind) {
    case NodeKind::field:
      node_ = &first;
      return field_chain(dot, dot, first, first.names, arguments, final);
    case NodeKind::chain: {
      node_ = &first;
      const Value receiver = NOMAD_TRY(operand(dot, first.nodes[0]));
      return field_chain(dot, receiver, first, first.names, arguments, final);
    }
    case NodeKind::identifier:
      return function(dot, first, arguments, final, command);
    case NodeKind::pipeline:
      NOMAD_TRY(no_function(first, arguments.size(), final));
      return pipeline(dot, first);
    case NodeKind::variable: {
      node_ = &first;
      const Value* value = variable(first.names[0]);
      if (value == nullptr) return fail("undefined variable: " + first.names[0]);
      if (first.names.size() == 1) {
        NOMAD_TRY(no_function(first, arguments.size(), final));
        return *value;
      }
      const Value receiver = *value;
      return field_chain(dot, receiver, first, std::span{first.names}.subspan(1), arguments, final);
    }
    default:
      break;
  }
  node_ = &first;
  NOMAD_TRY(no_function(first, arguments.size(), final));
  switch (first.kind) {
    case NodeKind::dot:
      return dot;
    case NodeKind::nil:
      return fail("nil is not a command");
    case NodeKind::number:
      return ideal(first);
    default:
      return first.constant->value;
  }
}

Result<Value> Executor::operand(const Value& dot, const Node& node) {
  node_ = &node;
  switch (node.kind) {
    case NodeKind::dot:
      return dot;
    case NodeKind::field:
      return field_chain(dot, dot, node, node.names, {}, {});
    case NodeKind::variable: {
      const Value* value = variable(node.names[0]);
      if (value == nullptr) return fail("undefined variable: " + node.names[0]);
      if (node.names.size() == 1) return *value;
      const Value receiver = *value;
      return field_chain(dot, receiver, node, std::span{node.names}.subspan(1), {}, {});
    }
    case NodeKind::pipeline:
      return pipeline(dot, node);
    case NodeKind::identifier:
      return function(dot, node, {}, {}, node);
    case NodeKind::chain: {
      if (node.nodes[0].kind == NodeKind::nil)
        return fail("indirection through explicit nil in " + node.shown());
      const Value receiver = NOMAD_TRY(operand(dot, node.nodes[0]));
      return field_chain(dot, receiver, node, node.names, {}, {});
    }
    case NodeKind::number:
      return ideal(node);
    case NodeKind::nil:
      return fail("nil is not a command");
    default:
      return node.constant->value;
  }
}

Result<Value> Executor::field_chain(const Value& dot,
                                    const Value& receiver,
                                    const Node& node,
                                    std::span<const std::string> names,
                                    std::span<const Node> arguments,
                                    const Final& final) {
  Value value = receiver;
  for (const auto& name : names.first(names.size() - 1))
    value = NOMAD_TRY(field(dot, name, node, {}, {}, value));
  return field(dot, names.back(), node, arguments, final, value);
}

Result<Value> Executor::map_entry(const std::string& name, const Value& map, bool has_arguments) {
  if (has_arguments) return fail(name + " is not a method but has arguments");
  const auto found = map.entries().find(std::string_view{name});
  if (found != map.entries().end()) return boxed(found->second, *map.type()->element);
  switch (template_.options_.missing_key) {
    case MissingKey::no_value:
      return Value{};
    case MissingKey::zero:
      return boxed(Value::zero(*map.type()->element), *map.type()->element);
    case MissingKey::error:
      break;
  }
  return fail("map has no entry for key " + quote(name));
}

Result<Value> Executor::field(const Value& dot,
                              const std::string& name,
                              const Node& node,
                              std::span<const Node> arguments,
                              const Final& final,
                              const Value& receiver) {
  if (receiver.is_invalid() && receiver.is_boxed())
    return fail("nil pointer evaluating interface {}." + name);
  if (receiver.is_invalid()) {
    if (template_.options_.missing_key == MissingKey::error)
      return fail("nil data; no entry for key " + quote(name));
    return Value{};
  }
  const Type& type = *receiver.type();
  const bool is_null = receiver.is_nil() && type.is_pointer;
  if (type.method != nullptr)
    if (const Function* method = type.method(name); method != nullptr) {
      if (is_null) return fail("nil pointer evaluating " + shown_type(receiver) + '.' + name);
      return call(dot, *method, &receiver, name, node, arguments, final);
    }
  const bool has_arguments = arguments.size() > 1 || final.has_value();
  if (type.kind == Kind::structure) {
    const auto found = std::ranges::find(type.fields, name, &Field::name);
    const auto position = static_cast<std::size_t>(found - type.fields.begin());
    if (position < type.fields.size()) {
      if (is_null) return fail("nil pointer evaluating " + shown_type(receiver) + '.' + name);
      if (has_arguments) return fail(name + " has arguments but cannot be invoked as function");
      return receiver.fields()[position];
    }
  } else if (is_null) {
    return fail("nil pointer evaluating " + shown_type(receiver) + '.' + name);
  } else if (type.kind == Kind::map
             && (type.key->kind == Kind::text || type.key->kind == Kind::any)) {
    return map_entry(name, receiver, has_arguments);
  }
  return fail("can't evaluate field " + name + " in type " + shown_type(receiver));
}

Result<Value> Executor::function(const Value& dot,
                                 const Node& node,
                                 std::span<const Node> arguments,
                                 const Final& final,
                                 const Node& whole) {
  node_ = &node;
  const Function* found = template_.options_.functions->find(node.text);  // The parser has looked.
  return call(dot, *found, nullptr, node.text, whole, arguments, final);
}

Result<Value> Executor::and_or(const Value& dot,
                               const Function& function,
                               std::span<const Node> arguments,
                               const Final& final) {
  Value value;
  for (const Node& node : arguments) {
    value = NOMAD_TRY(argument(dot, types::reflected, node));
    if (value.is_true() == is_or(function)) return value;
  }
  return final ? *final : value;
}

Result<Value> Executor::call(const Value& dot,
                             const Function& function,
                             const Value* receiver,
                             std::string_view name,
                             const Node& node,
                             std::span<const Node> arguments,
                             const Final& final) {
  if (!arguments.empty()) arguments = arguments.subspan(1);
  const std::size_t given = arguments.size() + (final ? 1 : 0);
  const auto& parameters = function.parameters;
  const std::size_t fixed = parameters.size() - (function.is_variadic ? 1 : 0);
  if (function.is_variadic ? given < fixed : given != fixed)
    return fail("wrong number of args for " + std::string{name} + ": want "
                + (function.is_variadic ? "at least " : "") + std::to_string(fixed) + " got "
                + std::to_string(function.is_variadic ? arguments.size() : given));
  if (is_and(function) || is_or(function)) return and_or(dot, function, arguments, final);
  std::vector<Value> values;
  values.reserve(given + 1);
  if (receiver != nullptr) values.push_back(*receiver);
  const auto type_of = [&parameters](std::size_t position) -> const Type& {
    return *parameters[std::min(position, parameters.size() - 1)];
  };
  for (std::size_t i = 0; i < arguments.size(); ++i)
    values.push_back(NOMAD_TRY(argument(dot, type_of(i), arguments[i])));
  if (final) values.push_back(NOMAD_TRY(fit(*final, type_of(arguments.size()))));
  auto paid = context_.step(1 + given);
  if (!paid) return Error{paid.error().code, fail_at(node, paid.error().what).what};
  Call called{context_, values};
  auto result = function.body(called);
  if (!result)
    return Error{
        result.error().code,
        fail_at(node, "error calling " + std::string{name} + ": " + result.error().what).what};
  return result;
}

Result<Value> Executor::fit(Value value, const Type& type) const {
  if (value.is_invalid() && value.is_boxed() && type.kind != Kind::any)
    return fail("wrong type for value; expected " + std::string{type.name} + "; got interface {}");
  if (value.is_invalid() && value.is_boxed()) return value;
  if (value.is_invalid()) {
    if (may_be_nil(type)) return Value::null(type);
    return fail("invalid value; expected " + std::string{type.name});
  }
  if (is_assignable(*value.type(), type)) return value;
  return fail("wrong type for value; expected " + std::string{type.name} + "; got "
              + std::string{value.type()->name});
}

Result<Value> Executor::argument(const Value& dot, const Type& type, const Node& node) {
  node_ = &node;
  switch (node.kind) {
    case NodeKind::nil:
      if (may_be_nil(type)) return Value::null(type);
      return fail("cannot assign nil to " + std::string{type.name});
    case NodeKind::dot:
    case NodeKind::field:
    case NodeKind::variable:
    case NodeKind::pipeline:
    case NodeKind::identifier:
    case NodeKind::chain:
      return fit(NOMAD_TRY(operand(dot, node)), type);
    default:
      return constant(type, node);
  }
}

Result<Value> Executor::constant(const Type& type, const Node& node) {
  const Number& number = node.constant->number;
  const bool is_number = node.kind == NodeKind::number;
  switch (type.kind) {
    case Kind::any:
      return is_number ? ideal(node) : Result<Value>{node.constant->value};
    case Kind::boolean:
      if (node.kind == NodeKind::boolean) return node.constant->value;
      return fail("expected bool; found " + node.shown());
    case Kind::text:
      if (node.kind == NodeKind::string) return node.constant->value;
      return fail("expected string; found " + node.shown());
    case Kind::integer:
      if (is_number && number.is_integer) return Value::integer(number.integer, type);
      return fail("expected integer; found " + node.shown());
    case Kind::number:
      if (is_number && number.is_number) return Value::number(number.number);
      return fail("expected float; found " + node.shown());
    case Kind::natural:  // no function has a parameter of it
    case Kind::list:
    case Kind::map:
    case Kind::structure:
    case Kind::function:
      break;
  }
  return fail("can't handle " + node.shown() + " for arg of type " + std::string{type.name});
}

Result<Value> Executor::ideal(const Node& number) {
  node_ = &number;
  if (number.constant->value.is_invalid()) return fail(number.text + " overflows int");
  return number.constant->value;
}

}  // namespace nomad::templates
