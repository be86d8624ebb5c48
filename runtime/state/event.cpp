#include "runtime/state/event.hpp"

#include "runtime/object/draft.hpp"

namespace nomad::state {

namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};

template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

}  // namespace

std::string_view Event::topic() const {
  return std::visit(
      Overloaded{
          [](const Object<schema::Job>&) -> std::string_view { return "Job"; },
          [](const Object<schema::Evaluation>&) -> std::string_view { return "Evaluation"; },
          [](const Object<schema::Allocation>&) -> std::string_view { return "Allocation"; },
          [](const Object<schema::Deployment>&) -> std::string_view { return "Deployment"; },
          [](const Object<schema::Node>&) -> std::string_view { return "Node"; },
          [](const Object<schema::NodePool>&) -> std::string_view { return "NodePool"; },
          [](const Object<schema::ServiceRegistration>&) -> std::string_view { return "Service"; },
      },
      payload);
}

std::string_view Event::key() const {
  return std::visit(Overloaded{
                        [](const Object<schema::NodePool>& pool) { return view(pool->getName()); },
                        [](const auto& object) { return view(object->getId()); },
                    },
                    payload);
}

std::string_view Event::ns() const {
  return std::visit(Overloaded{
                        [](const Object<schema::Node>&) { return std::string_view{}; },
                        [](const Object<schema::NodePool>&) { return std::string_view{}; },
                        [](const auto& object) { return view(object->getNamespace()); },
                    },
                    payload);
}

std::vector<std::string_view> Event::filter_keys() const {
  using Keys = std::vector<std::string_view>;
  Keys keys
      = std::visit(Overloaded{
                       [](const Object<schema::Evaluation>& eval) {
                         return Keys{view(eval->getJobId()), view(eval->getDeploymentId())};
                       },
                       [](const Object<schema::Allocation>& alloc) {
                         return Keys{view(alloc->getJobId()), view(alloc->getDeploymentId())};
                       },
                       [](const Object<schema::Deployment>& deployment) {
                         return Keys{view(deployment->getJobId())};
                       },
                       [](const Object<schema::ServiceRegistration>& service) {
                         return Keys{view(service->getJobId()), view(service->getServiceName())};
                       },
                       [](const auto&) { return Keys{}; },
                   },
                   payload);
  std::erase(keys, std::string_view{});
  return keys;
}

}  // namespace nomad::state
