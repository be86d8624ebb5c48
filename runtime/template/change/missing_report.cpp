#include "runtime/template/change/missing_report.hpp"

#include <utility>

namespace nomad::templates {
namespace {

constexpr std::size_t most_named = 3;

}  // namespace

void MissingReport::update(std::set<std::string> missing, Time now) {
  if (missing == missing_) return;
  missing_ = std::move(missing);
  if (missing_.empty())
    due_.reset();
  else if (!due_)
    due_ = now + delay_;
}

std::optional<std::string> MissingReport::take(Time now) {
  if (!due_ || now < *due_) return std::nullopt;
  due_.reset();
  return missing_text(missing_);
}

std::string missing_text(const std::set<std::string>& missing) {
  std::string out = "Missing: ";
  std::size_t named = 0;
  for (const std::string& name : missing) {
    if (named == most_named) {
      out += ", and " + std::to_string(missing.size() - most_named) + " more";
      break;
    }
    out += (named++ == 0 ? "" : ", ") + name;
  }
  return out;
}

}  // namespace nomad::templates
