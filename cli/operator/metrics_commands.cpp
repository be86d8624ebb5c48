// operator metrics: what the agent measures.
#include <iostream>

#include <boost/json.hpp>

#include "cli/api_command.hpp"
#include "cli/output/output.hpp"
#include "cli/output/terminal_text.hpp"
#include "cli/run.hpp"

namespace nomad::cli {

Result<int> run_operator_metrics(const std::vector<std::string>& arguments) {
  ApiCommand command{"operator metrics [options]", "Shows the metrics of an agent."};
  OutputFlags output{command};
  auto& pretty = command.flag("pretty", "Lays the JSON out in lines.");
  auto& format = command.option("format", "The format: prometheus.");
  if (auto code = command.start(arguments)) return *code;
  Query query;
  if (pretty) query.emplace_back("pretty", "1");
  if (!format.empty()) query.emplace_back("format", format);
  if (output.requested()) {
    const auto metrics
        = NOMAD_TRY(command.api->get("/v1/metrics", query).within("Error querying metrics"));
    return output.print(metrics.body).value_or(0);
  }
  const auto answer = NOMAD_TRY(
      command.api->send("GET", "/v1/metrics", query, "").within("Error getting metrics"));
  if (answer.status / 100 != 2) return fail("Error getting metrics", refusal(answer));
  const RawOutput raw;
  std::cout << answer.body << '\n';
  return 0;
}

}  // namespace nomad::cli
