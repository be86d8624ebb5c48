#include "runtime/telemetry/registry.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "runtime/base/text.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::telemetry {
namespace {

constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;

/// Go's Time.String() of a whole second in UTC: "2026-11-21 00:56:40 +0000 UTC".
std::string go_time(std::int64_t unix_seconds) {
  const std::time_t time = unix_seconds;
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  char text[64];
  const auto size = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S +0000 UTC", &parts);
  return {text, size};
}

void append_labels_json(std::string& out, const Labels& labels) {
  out += "\"Labels\":{";
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (i != 0) out += ',';
    append_json_text(out, labels[i].first);
    out += ':';
    append_json_text(out, labels[i].second);
  }
  out += '}';
}

void append_number(std::string& out, std::string_view name, double value) {
  out.append("\"").append(name).append("\":");
  append_json_real(out, value);
  out += ',';
}

void append_summary(std::string& out,
                    const std::string& name,
                    const Labels& labels,
                    const Summary& summary,
                    std::int64_t interval_seconds) {
  out += "{\"Count\":" + std::to_string(summary.count) + ',';
  append_labels_json(out, labels);
  out += ',';
  append_number(out, "Max", summary.max);
  append_number(out, "Mean", summary.mean());
  append_number(out, "Min", summary.min);
  out += "\"Name\":";
  append_json_text(out, name);
  out += ',';
  append_number(out, "Rate", summary.sum / static_cast<double>(interval_seconds));
  append_number(out, "Stddev", summary.deviation());
  append_number(out, "Sum", summary.sum);
  out.back() = '}';
}

/// A name as Prometheus allows it.
std::string prometheus_name(std::string_view name) {
  std::string out{name};
  for (char& c : out)
    if (!(is_alphanumeric(c) || c == '_' || c == ':')) c = '_';
  if (!out.empty() && is_digit(out[0])) out.insert(0, 1, '_');
  return out;
}

void append_value(std::string& out, double value) {
  if (std::isnan(value))
    out += "NaN";
  else
    append_json_real(out, value);
  if (out.ends_with(".0")) out.resize(out.size() - 2);
}

/// `{a="x",b="y"}` with `extra` behind, or nothing.
std::string prometheus_labels(const Labels& labels, std::string_view extra = {}) {
  std::string out;
  for (const auto& [name, value] : labels) {
    out += out.empty() ? '{' : ',';
    out += prometheus_name(name) + "=\"";
    for (const char c : value) {
      if (c == '\\' || c == '"') out += '\\';
      if (c == '\n')
        out += "\\n";
      else
        out += c;
    }
    out += '"';
  }
  if (!extra.empty()) {
    out += out.empty() ? '{' : ',';
    out += extra;
  }
  if (!out.empty()) out += '}';
  return out;
}

/// Writes the lines above a family when `name` begins a new one.
void begin_family(std::string& out,
                  std::string& open,
                  const std::string& name,
                  std::string_view type) {
  if (open == name) return;
  open = name;
  out += "# HELP " + name + ' ' + name + "\n# TYPE " + name + ' ';
  out.append(type).append("\n");
}

double quantile(const std::vector<float>& sorted, double share) {
  if (sorted.empty()) return std::nan("");
  const auto last = static_cast<double>(sorted.size() - 1);
  return static_cast<double>(sorted[static_cast<std::size_t>(std::llround(share * last))]);
}

}  // namespace

void Summary::add(double value) {
  min = count == 0 ? value : std::min(min, value);
  max = count == 0 ? value : std::max(max, value);
  ++count;
  sum += value;
  sum_of_squares += value * value;
}

double Summary::mean() const {
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

double Summary::deviation() const {
  if (count < 2) return 0;
  const auto n = static_cast<double>(count);
  return std::sqrt(std::max(0.0, (n * sum_of_squares - sum * sum) / (n * (n - 1))));
}

void Counter::add(double amount) {
  const std::lock_guard lock{guard_};
  current_.add(amount);
  total_ += amount;
}

void Sample::observe(double value) {
  const std::lock_guard lock{guard_};
  if (values_.size() < kept)
    values_.push_back(static_cast<float>(value));
  else
    values_[current_.count % kept] = static_cast<float>(value);
  current_.add(value);
  ++total_count_;
  total_sum_ += value;
}

Registry::Registry(Options options) : options_{std::move(options)} {}

Registry::~Registry() = default;

Registry::Key Registry::make_key(std::string_view name, Labels labels) const {
  if (!options_.host.empty()) labels.emplace_back("host", options_.host);
  std::sort(labels.begin(), labels.end());
  std::string full = options_.prefix;
  if (!full.empty()) full += '.';
  return {full.append(name), std::move(labels)};
}

template <class T>
std::shared_ptr<T> Registry::find(Family<T>& family, std::string_view name, Labels labels) {
  auto key = make_key(name, std::move(labels));
  const std::lock_guard lock{guard_};
  auto& slot = family[std::move(key)];
  if (!slot) slot = std::make_shared<T>();
  return slot;
}

Counter& Registry::counter(std::string_view name, Labels labels) {
  auto found = find(counters_, name, std::move(labels));
  const std::lock_guard lock{guard_};
  return **lasting_.insert(std::move(found)).first;
}

Sample& Registry::sample(std::string_view name, Labels labels) {
  return *find(samples_, name, std::move(labels));
}

std::shared_ptr<Counter> Registry::passing_counter(std::string_view name, Labels labels) {
  return find(counters_, name, std::move(labels));
}

void Registry::add_collector(Collector collector) {
  const std::lock_guard lock{collectors_guard_};
  collectors_.push_back(std::move(collector));
}

void Registry::add_recorder(std::function<void()> recorder) {
  const std::lock_guard lock{collectors_guard_};
  recorders_.push_back(std::move(recorder));
}

std::map<Registry::Key, double> Registry::collect(const Collector& more) {
  Gauges gauges;
  {
    const std::lock_guard lock{collectors_guard_};
    for (const auto& collector : collectors_)
      collector(gauges);
  }
  if (more) more(gauges);
  std::map<Key, double> values;
  for (auto& [key, value] : gauges.values_)
    values[make_key(key.first, std::move(key.second))] = value;
  return values;
}

std::int64_t Registry::interval_of(std::int64_t unix_nanoseconds) const {
  return unix_nanoseconds / nanoseconds_per_second / options_.interval_seconds;
}

void Registry::advance(std::int64_t unix_nanoseconds) {
  {
    const std::lock_guard lock{collectors_guard_};
    for (const auto& recorder : recorders_)
      recorder();
  }
  const std::lock_guard lock{guard_};
  const auto now = interval_of(unix_nanoseconds);
  if (interval_ == 0) interval_ = now;
  if (now <= interval_) return;
  const bool is_next = now == interval_ + 1;  // else the last whole interval saw nothing
  std::erase_if(counters_, [is_next](auto& entry) {
    auto& counter = *entry.second;
    const std::lock_guard metric{counter.guard_};
    counter.last_ = is_next ? counter.current_ : Summary{};
    counter.current_ = {};
    return entry.second.use_count() == 1 && counter.last_.count == 0;
  });
  for (auto& [key, sample] : samples_) {
    const std::lock_guard metric{sample->guard_};
    sample->last_ = is_next ? sample->current_ : Summary{};
    sample->current_ = {};
    sample->last_values_.swap(sample->values_);
    sample->values_.clear();
    if (!is_next) sample->last_values_.clear();
  }
  interval_ = now;
  has_last_ = true;
}

std::string Registry::json(std::int64_t unix_nanoseconds, const Collector& more) {
  advance(unix_nanoseconds);
  const auto gauges = collect(more);
  const std::lock_guard lock{guard_};
  std::string out = "{\"Counters\":[";
  const auto append_all = [&](const auto& family) {
    for (const auto& [key, metric] : family) {
      const std::lock_guard one{metric->guard_};
      const auto& summary = has_last_ ? metric->last_ : metric->current_;
      if (summary.count == 0) continue;
      append_summary(out, key.first, key.second, summary, options_.interval_seconds);
      out += ',';
    }
    if (out.back() == ',') out.pop_back();
  };
  append_all(counters_);
  out += "],\"Gauges\":[";
  for (const auto& [key, value] : gauges) {
    out += '{';
    append_labels_json(out, key.second);
    out += ",\"Name\":";
    append_json_text(out, key.first);
    out += ",\"Value\":";
    append_json_real(out, value);
    out += "},";
  }
  if (out.back() == ',') out.pop_back();
  out += "],\"Points\":[],\"Samples\":[";
  append_all(samples_);
  const auto shown = (has_last_ ? interval_ - 1 : interval_) * options_.interval_seconds;
  out += "],\"Timestamp\":";
  append_json_text(out, go_time(shown));
  return out += '}';
}

std::string Registry::prometheus(std::int64_t unix_nanoseconds, const Collector& more) {
  advance(unix_nanoseconds);
  const auto gauges = collect(more);
  const std::lock_guard lock{guard_};
  std::string out;
  std::string open;
  for (const auto& [key, counter] : counters_) {
    const std::lock_guard one{counter->guard_};
    const auto name = prometheus_name(key.first);
    begin_family(out, open, name, "counter");
    out += name + prometheus_labels(key.second) + ' ';
    append_value(out, counter->total_);
    out += '\n';
  }
  for (const auto& [key, value] : gauges) {
    const auto name = prometheus_name(key.first);
    begin_family(out, open, name, "gauge");
    out += name + prometheus_labels(key.second) + ' ';
    append_value(out, value);
    out += '\n';
  }
  for (const auto& [key, sample] : samples_) {
    const std::lock_guard one{sample->guard_};
    if (sample->total_count_ == 0) continue;  // nothing of it yet
    const auto name = prometheus_name(key.first);
    begin_family(out, open, name, "summary");
    auto sorted = has_last_ ? sample->last_values_ : sample->values_;
    std::sort(sorted.begin(), sorted.end());
    for (const auto& [text, share] :
         {std::pair{"0.5", 0.5}, std::pair{"0.9", 0.9}, std::pair{"0.99", 0.99}}) {
      out += name + prometheus_labels(key.second, "quantile=\"" + std::string{text} + '"') + ' ';
      append_value(out, quantile(sorted, share));
      out += '\n';
    }
    out += name + "_sum" + prometheus_labels(key.second) + ' ';
    append_value(out, sample->total_sum_);
    out += '\n' + name + "_count" + prometheus_labels(key.second) + ' '
           + std::to_string(sample->total_count_) + '\n';
  }
  return out;
}

}  // namespace nomad::telemetry
