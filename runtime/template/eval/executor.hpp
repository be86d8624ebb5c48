// Walks the trees of a template. Part of `Template`; nobody else uses it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/template/eval/template.hpp"

namespace nomad::templates {

/// How a list of nodes ended.
enum class Flow : std::uint8_t { on, break_, continue_ };

class Executor {
public:
  Executor(const Template& whole, Context& context, std::string& out)
      : template_{whole}, context_{context}, out_{out} {}

  /// Renders the tree of that name.
  Result<void> run(std::string_view name, const Value& data);

private:
  struct Variable {
    std::string_view name;
    Value value;
  };

  /// The value that a pipeline hands on to its next command; nothing at its beginning.
  using Final = std::optional<Value>;

  Error fail(const std::string& what) const;
  Error fail_at(const Node& node, const std::string& what);
  Result<void> write(std::string_view text);
  Result<void> enter();

  void leave() { --context_.depth; }

  Result<Flow> walk_list(const Value& dot, const Node& list);
  Result<Flow> walk(const Value& dot, const Node& node);
  Result<Flow> walk_branch(const Value& dot, const Node& node);
  Result<Flow> walk_range(const Value& dot, const Node& node);
  Result<Flow> iterate(const Node& node, const Value& key, const Value& item);
  Result<void> walk_template(const Value& dot, const Node& node);

  Result<Value> pipeline(const Value& dot, const Node& pipe);
  Result<Value> command(const Value& dot, const Node& command, const Final& final);
  Result<Value> operand(const Value& dot, const Node& node);
  Result<Value> field_chain(const Value& dot,
                            const Value& receiver,
                            const Node& node,
                            std::span<const std::string> names,
                            std::span<const Node> arguments,
                            const Final& final);
  Result<Value> field(const Value& dot,
                      const std::string& name,
                      const Node& node,
                      std::span<const Node> arguments,
                      const Final& final,
                      const Value& receiver);
  Result<Value> map_entry(const std::string& name, const Value& map, bool has_arguments);
  Result<Value> function(const Value& dot,
                         const Node& node,
                         std::span<const Node> arguments,
                         const Final& final,
                         const Node& whole);
  Result<Value> call(const Value& dot,
                     const Function& function,
                     const Value* receiver,
                     std::string_view name,
                     const Node& node,
                     std::span<const Node> arguments,
                     const Final& final);
  Result<Value> and_or(const Value& dot,
                       const Function& function,
                       std::span<const Node> arguments,
                       const Final& final);
  Result<Value> argument(const Value& dot, const Type& type, const Node& node);
  Result<Value> constant(const Type& type, const Node& node);
  Result<Value> ideal(const Node& number);
  Result<Value> fit(Value value, const Type& type) const;
  Result<void> no_function(const Node& first, std::size_t count, const Final& final) const;
  Value* variable(std::string_view name);

  const Template& template_;
  Context& context_;
  std::string& out_;
  std::string_view name_;       ///< Of the tree that is walked.
  const Node* node_ = nullptr;  ///< For messages.
  std::vector<Variable> variables_;
};

}  // namespace nomad::templates
