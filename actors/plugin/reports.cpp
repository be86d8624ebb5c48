#include "actors/plugin/reports.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/object/draft.hpp"
#include "runtime/plugin/said.hpp"

namespace nomad::plugin {

void Reports::line(log::Level level, std::string_view text, std::chrono::nanoseconds now) {
  if (!lines_.take(now)) return dropped(1);
  if (log::enabled(level))
    log::write(level, "plugin", "a plugin says", {{"plugin", plugin_}, {"message", said(text)}});
}

void Reports::dropped(std::uint64_t lines) {
  if (lines > 0)
    states_->update(plugin_, [lines](PluginStatus& status) { status.lines_dropped += lines; });
}

bool Reports::takes_event(std::chrono::nanoseconds now) {
  if (events_.take(now)) return true;
  states_->update(plugin_, [](PluginStatus& status) { ++status.events_dropped; });
  return false;
}

void Reports::line(schema::plugin::LogLine::Reader said, std::chrono::nanoseconds now) {
  const auto level = static_cast<unsigned>(said.getLevel());
  line(level > static_cast<unsigned>(log::Level::error) ? log::Level::error
                                                        : static_cast<log::Level>(level),
       view(said.getText()), now);
}

void Reports::metric(schema::plugin::Metric::Reader metric) {
  const auto name = copy(metric.getName());
  const auto fits = [](char sign) {
    return (sign >= 'a' && sign <= 'z') || (sign >= '0' && sign <= '9') || sign == '_'
           || sign == '.';
  };
  if (!metrics_ || name.empty() || name.size() > 64 || !std::ranges::all_of(name, fits)) return;
  if (!std::isfinite(metric.getValue())) return;  // it would spoil the sum for good
  if (!known_.contains(name) && known_.size() >= most_metrics) return;
  known_.insert(name);
  if (metric.getKind() == schema::plugin::Metric::Kind::SAMPLE)
    metrics_->sample("plugin." + name, {{"plugin", plugin_}}).observe(metric.getValue());
  else
    metrics_->counter("plugin." + name, {{"plugin", plugin_}}).add(metric.getValue());
}

}  // namespace nomad::plugin
