// var init: writes an example specification of a variable.
#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "cli/api.hpp"
#include "cli/arguments.hpp"
#include "cli/new_file.hpp"
#include "cli/programs.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

constexpr std::string_view hcl_example = R"(# A specification for `nomadctl var put @spec.nv.hcl`.

# Where the variable goes. A path given to the command wins over this one.
# path = "path/to/variable"

# Whose variable it is. The flag -namespace wins over this.
# namespace = "default"

# What is stored. All items are sealed and opened as one. Letters, digits and "_" make keys that
# templates can name directly; keep to them where you can.
items {
  key1 = "value 1"
  key2 = "value 2"
}
)";

constexpr std::string_view json_example = R"({
  "Namespace": "default",
  "Path": "path/to/variable",
  "Items": {
    "key1": "value 1",
    "key2": "value 2"
  }
}
)";

}  // namespace

Result<int> run_var_init(const std::vector<std::string>& arguments) {
  Arguments parser{"var init <filename>", "Writes an example specification of a variable."};
  auto& format = parser.option("out", "hcl or json.", "hcl");
  auto& quiet = parser.flag("quiet", "Says nothing when it worked.");
  if (auto code = parser.parse(arguments)) return *code;
  if (parser.positional().size() > 1)
    return parser.misuse("This command takes no arguments or one: <filename>");
  if (format != "hcl" && format != "json")
    return parser.misuse("Invalid value for \"-out\"; valid values are [hcl, json]");
  const auto name = parser.positional().empty() ? "spec.nv." + format : parser.positional()[0];
  std::error_code failure;
  if (std::filesystem::exists(name, failure))
    return mistake(fmt::format("File \"{}\" already exists", name));
  NOMAD_TRY(write_new(name, as_called(format == "hcl" ? hcl_example : json_example))
                .within("Failed to write"));
  if (!quiet) std::cout << "Example variable specification written to " << name << '\n';
  return 0;
}

}  // namespace nomad::cli
