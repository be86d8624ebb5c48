// The functions that a template may call, by their names.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/template/eval/context.hpp"

namespace nomad::templates {

/// A table of functions; each is a constant of the program.
class Functions {
public:
  /// Those of Go's text/template.
  static const Functions& go();

  /// Later ones take the place of those with the same name.
  void add(std::span<const Function> functions);
  void add(const Function& function);

  /// From now on the function answers "function is disabled". Nothing happens if there is none.
  void deny(std::string_view name);

  /// Null if there is none.
  const Function* find(std::string_view name) const;

  /// All names, sorted.
  std::vector<std::string_view> names() const;

private:
  std::map<std::string_view, const Function*> functions_;
};

/// `and` and `or` evaluate no more arguments than they need; whether a function is one of them.
bool is_and(const Function& function);
bool is_or(const Function& function);

/// Converts a value to a parameter's type where Go's `call` and `index` do; an error otherwise.
Result<Value> prepare_argument(const Value& value, const Type& type);

}  // namespace nomad::templates
