// Cases of templates in test/data/template: what Go's own packages made of them, one a line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/template/eval/sources.hpp"
#include "runtime/template/eval/template.hpp"

namespace nomad::templates {

struct Case {
  std::string text;
  Delimiters delimiters;
  std::string missing_key;
  std::optional<std::string> output;  ///< Or else:
  std::string error;
};

std::vector<Case> load_cases(std::string_view name);

/// The data of the cases in go.json.
Value case_data();

/// The sources of the cases in consul_template.json.
class CaseSources : public Sources {
public:
  std::optional<std::vector<ServiceName>> services(const ServicesQuery& query) override;
  std::optional<std::vector<ServiceInstance>> service(const ServiceQuery& query) override;
  std::optional<std::optional<Variable>> variable(const VariableQuery& query) override;
  std::optional<std::vector<VariableMeta>> variables(const VariableListQuery& query) override;
  Result<std::optional<std::string>> file(const FileQuery& query) override;
  std::optional<std::string> environment(std::string_view name) override;
  std::int64_t now() override;
  Result<std::string> address(std::string_view text) override;
  std::string random(std::size_t bytes) override;
};

/// What a template gives or says, however it ends. As in the files, bytes that are no UTF-8 are
/// U+FFFD.
std::string outcome(const Result<std::string>& result);

}  // namespace nomad::templates
