#include "actors/client/node/driver_changes.hpp"

#include "runtime/object/draft.hpp"

namespace nomad::client {

DriverChanges changes_between(const KnownDrivers& before, const KnownDrivers& now) {
  DriverChanges changes;
  for (const auto& [name, driver] : before)
    if (!now.contains(name)) changes.gone.push_back(name);
  changes.of_node = !changes.gone.empty();
  const KnownDriver unknown;
  for (const auto& [name, driver] : now) {
    const auto known = before.find(name);
    const auto& earlier = known == before.end() ? unknown : known->second;
    const auto was = earlier.feels();
    const auto is = driver.feels();
    const bool feels_other = was.getHealthy() != is.getHealthy()
                             || view(was.getDescription()) != view(is.getDescription());
    if (feels_other && earlier.health && is.getDescription().size() > 0 && !driver.retired)
      changes.health_events.emplace_back(name, copy(is.getDescription()));
    changes.of_node = changes.of_node || feels_other || was.getDetected() != is.getDetected()
                      || !(driver.health && driver.health.equals(earlier.health));
    if (driver.driver.address() != earlier.driver.address()) changes.replaced.push_back(name);
  }
  return changes;
}

}  // namespace nomad::client
