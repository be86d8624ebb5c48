// The values that services and variables are in templates, with the fields and methods that
// consul-template gives them.
#pragma once

#include "runtime/template/eval/context.hpp"

namespace nomad::templates {

extern const Type service_type;       ///< *dependency.NomadService
extern const Type service_list;       ///< []*dependency.NomadService
extern const Type service_name_type;  ///< *dependency.NomadServicesSnippet
extern const Type service_name_list;
extern const Type tags_type;   ///< dependency.ServiceTags
extern const Type items_type;  ///< *dependency.NomadVarItems
extern const Type variable_meta_list;
extern const Type key_pair_list;  ///< []*dependency.KeyPair, of Consul

Value services_value(const std::vector<ServiceInstance>& services);
Value service_names_value(const std::vector<ServiceName>& services);

/// The items of a variable; each knows its variable.
Value items_value(const Variable& variable);
Value variable_metas_value(const std::vector<VariableMeta>& metas);

}  // namespace nomad::templates
