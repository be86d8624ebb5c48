#include "test/simulation/sim_network.hpp"

#include <algorithm>

namespace nomad::test {

using namespace std::chrono_literals;

Time SimNetwork::delay(Time shortest, Time longest) {
  const auto spread = static_cast<std::uint64_t>((longest - shortest).count());
  return shortest + Time{static_cast<std::int64_t>(random_.below(spread + 1))};
}

/// What is under way when the machine dies, dies with it.
void SimNetwork::deliver(Machine to,
                         std::uint64_t life,
                         Time when,
                         const std::function<void()>& arrive) {
  system_.at(when, [this, to, life, arrive] {
    if (system_.life(to) == life) system_.on(to, arrive);
  });
}

bool SimNetwork::send(Machine from, Machine to, const std::function<void()>& arrive) {
  if (!system_.is_on(from)) return false;
  ++counts_.messages;
  if (cut_.contains({from, to}) || random_.chance(faults_.lose)) {
    ++counts_.lost;
    return false;
  }
  const auto copies = random_.chance(faults_.duplicate) ? 2 : 1;
  if (copies == 2) ++counts_.duplicated;
  for (int copy = 0; copy < copies; ++copy) {
    const bool slow = random_.chance(faults_.slow);
    if (slow) ++counts_.delayed;
    const auto takes = slow ? delay(5ms, 1s) : delay(100us, 3ms);
    deliver(to, system_.life(to), system_.now() + takes, arrive);
  }
  return true;
}

std::optional<Time> SimNetwork::ask(Machine from,
                                    Machine to,
                                    bool repeated,
                                    const std::function<void()>& arrive,
                                    const std::function<void()>& lost,
                                    Time not_before) {
  if (!system_.is_on(from)) return std::nullopt;
  const auto life = system_.life(to);
  const bool away = !system_.is_on(to);
  const bool is_lost = away || cut_.contains({from, to}) || random_.chance(faults_.lose / 3);
  ++counts_.messages;
  if (is_lost) {
    ++counts_.lost;
    // A closed port answers at once; a cut link is noticed late.
    deliver(from, system_.life(from), system_.now() + (away ? delay(200us, 5ms) : delay(100ms, 4s)),
            lost);
    return std::nullopt;
  }
  const auto copies = repeated && random_.chance(faults_.duplicate) ? 2 : 1;
  if (copies == 2) ++counts_.duplicated;
  Time arrival = not_before;
  for (int copy = 0; copy < copies; ++copy) {
    const auto takes = delay(100us, random_.chance(faults_.slow) ? 500ms : 3ms);
    arrival = std::max(not_before, system_.now() + takes);
    system_.at(arrival, [this, from, from_life = system_.life(from), to, life, arrive, lost] {
      if (system_.life(to) == life)
        system_.on(to, arrive);
      else
        deliver(from, from_life, system_.now() + delay(200us, 5ms), lost);
    });
  }
  return arrival;
}

}  // namespace nomad::test
