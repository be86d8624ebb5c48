#include "cli/command_shape.hpp"

#include <algorithm>
#include <iostream>
#include <sstream>

#include <boost/json.hpp>

#include "cli/arguments.hpp"
#include "cli/output/json_view.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::cli {
namespace {

/// What is printed meanwhile.
class Printed {
public:
  Printed() : out_{std::cout.rdbuf(text_.rdbuf())}, err_{std::cerr.rdbuf(complaints_.rdbuf())} {}

  ~Printed() {
    std::cout.rdbuf(out_);
    std::cerr.rdbuf(err_);
  }

  Printed(const Printed&) = delete;
  Printed& operator=(const Printed&) = delete;

  std::string text() const { return text_.str(); }

private:
  std::ostringstream text_, complaints_;
  std::streambuf* out_;
  std::streambuf* err_;
};

}  // namespace

std::string_view CommandShape::name() const {
  const auto end = std::min({usage.find(" ["), usage.find(" <"), usage.size()});
  return std::string_view{usage}.substr(0, end);
}

const FlagShape* CommandShape::flag(std::string_view name) const {
  const auto at = std::ranges::find(flags, name, &FlagShape::name);
  return at == flags.end() ? nullptr : &*at;
}

CommandShape shape_of(const Command& command) {
  const Printed printed;
  static_cast<void>(command.run({std::string{Arguments::show_shape}}));
  CommandShape shape;
  const auto parsed = parse_json(printed.text());
  if (!parsed) return shape;
  const View view{*parsed};
  shape.usage = view["usage"].text();
  shape.about = view["about"].text();
  for (const auto& flag : view["flags"].items())
    shape.flags.push_back({flag["name"].text(), flag["help"].text(), flag["takes_value"].truth()});
  return shape;
}

std::string shape_text(const CommandShape& shape) {
  boost::json::array flags;
  for (const FlagShape& flag : shape.flags)
    flags.push_back(boost::json::object{
        {"name", flag.name}, {"help", flag.help}, {"takes_value", flag.takes_value}});
  return boost::json::serialize(boost::json::object{
      {"usage", shape.usage}, {"about", shape.about}, {"flags", std::move(flags)}});
}

}  // namespace nomad::cli
