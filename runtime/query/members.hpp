// Members: which members of the objects of a list are wanted, as `fields=ID,Name` asks for them.
// What a list shows of a row is written whole and then cut, so that each list has it alike.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nomad::query {

class Members {
public:
  /// All of them.
  Members() = default;

  /// Those of the names, which commas separate; all if there is none.
  explicit Members(std::string_view names);

  bool are_all() const { return names_.empty(); }

  /// Leaves these members alone of the JSON object that is `text` from `begin` on, compact and
  /// whole. Those that it has not are passed over.
  void keep(std::string& text, std::size_t begin) const;

private:
  std::vector<std::string> names_;
};

}  // namespace nomad::query
