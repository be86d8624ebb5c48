// Registry: the program's metrics, in the two forms that GET /v1/metrics shows: Nomad's summary of
// the last whole interval, and Prometheus' text with running totals.
//
// A metric is looked up once by name and labels and then used by reference, which stays valid as
// long as the registry; so what is labelled by things that come and go is no such metric: gauges of
// jobs and disks are told anew by collectors for each answer, and nothing of them stays; counters
// of tasks are there as long as somebody holds them. Recording takes a lock of that one metric, for
// a few nanoseconds. Time comes in by `advance`, which closes an interval; whoever owns the
// registry calls it every ten seconds, and every answer does too.
//
// May depend on: runtime/base, runtime/object (JSON text).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nomad::telemetry {

/// Names and values; sorted by the registry.
using Labels = std::vector<std::pair<std::string, std::string>>;

/// What was recorded in one interval.
struct Summary {
  std::uint64_t count = 0;
  double sum = 0;
  double sum_of_squares = 0;
  double min = 0;
  double max = 0;

  void add(double value);
  double mean() const;
  double deviation() const;  ///< Of the sample; 0 below two values.
};

/// Things that happen: how many, or how much of them.
class Counter {
public:
  void add(double amount = 1);

private:
  friend class Registry;

  mutable std::mutex guard_;
  Summary current_;
  Summary last_;
  double total_ = 0;
};

/// Measurements whose distribution counts; times are in milliseconds.
class Sample {
public:
  void observe(double value);

private:
  friend class Registry;

  /// Kept of an interval for its quantiles: the first ones, then every further one in the place
  /// of an older one.
  static constexpr std::size_t kept = 256;

  mutable std::mutex guard_;
  Summary current_;
  Summary last_;
  std::vector<float> values_;
  std::vector<float> last_values_;
  std::uint64_t total_count_ = 0;
  double total_sum_ = 0;
};

/// What gauges show for one answer: values that go up and down, read off something else.
class Gauges {
public:
  /// The last value of a name and its labels counts.
  void set(std::string_view name, double value, Labels labels = {}) {
    values_.emplace_back(std::pair{std::string{name}, std::move(labels)}, value);
  }

private:
  friend class Registry;

  std::vector<std::pair<std::pair<std::string, Labels>, double>> values_;
};

struct Options {
  std::string prefix = "nomad";  ///< Put before every name: "nomad.client.allocs.running".
  std::string host = {};         ///< The label `host` of every metric; none when empty.
  std::int64_t interval_seconds = 10;
};

/// Thread-safe.
class Registry {
public:
  explicit Registry(Options options);
  Registry(const Registry&) = delete;
  ~Registry();

  Counter& counter(std::string_view name, Labels labels = {});
  Sample& sample(std::string_view name, Labels labels = {});

  /// A counter of something that ends: no longer shown an interval or two after the last holder has
  /// let go of it, so that what it counted last is seen.
  std::shared_ptr<Counter> passing_counter(std::string_view name, Labels labels);

  using Collector = std::function<void(Gauges&)>;

  /// Called for each rendering. Must not call `add_collector` or a rendering.
  void add_collector(Collector collector);

  /// Called before intervals are closed, to add to counters and samples what somebody else counts.
  /// Must not call `add_collector`, this or a rendering.
  void add_recorder(std::function<void()> recorder);

  /// Closes the interval if `unix_nanoseconds` lies beyond it.
  void advance(std::int64_t unix_nanoseconds);

  /// Nomad's MetricsSummary of the last whole interval (of the first one while it lasts). `more` is
  /// a collector for this answer alone.
  std::string json(std::int64_t unix_nanoseconds, const Collector& more = {});

  /// Prometheus' text exposition, version 0.0.4.
  std::string prometheus(std::int64_t unix_nanoseconds, const Collector& more = {});

private:
  using Key = std::pair<std::string, Labels>;
  template <class T>
  using Family = std::map<Key, std::shared_ptr<T>>;

  Key make_key(std::string_view name, Labels labels) const;
  template <class T>
  std::shared_ptr<T> find(Family<T>& family, std::string_view name, Labels labels);
  std::map<Key, double> collect(const Collector& more);
  std::int64_t interval_of(std::int64_t unix_nanoseconds) const;

  const Options options_;
  mutable std::mutex guard_;  ///< Of the maps, not of the metrics.
  Family<Counter> counters_;
  std::set<std::shared_ptr<Counter>> lasting_;  ///< Those that `counter` has given out.
  Family<Sample> samples_;
  std::mutex collectors_guard_;
  std::vector<Collector> collectors_;
  std::vector<std::function<void()>> recorders_;
  std::int64_t interval_ = 0;  ///< Number of the current one since 1970; 0 before the first.
  bool has_last_ = false;
};

}  // namespace nomad::telemetry
