#include "runtime/identity/claims.hpp"

#include <algorithm>

#include <boost/json.hpp>

namespace nomad::identity {

bool is_for_nomad(const Claims& claims) {
  if (claims.subject.empty() && claims.audience.empty()) return true;
  return std::find(claims.audience.begin(), claims.audience.end(), own_audience)
         != claims.audience.end();
}

std::string claims_json(const Claims& claims) {
  boost::json::object json;
  const auto put = [&json](std::string_view name, std::string_view value) {
    if (!value.empty()) json[name] = value;
  };
  json["nomad_namespace"] = claims.ns;
  json["nomad_job_id"] = claims.job_id;
  json["nomad_allocation_id"] = claims.alloc_id;
  put("nomad_task", claims.task);
  put("nomad_service", claims.service);
  put("iss", claims.issuer);
  put("sub", claims.subject);
  if (claims.audience.size() == 1)
    json["aud"] = claims.audience.front();
  else if (!claims.audience.empty())
    json["aud"] = boost::json::array(claims.audience.begin(), claims.audience.end());
  if (claims.expires_at != 0) json["exp"] = claims.expires_at;
  json["nbf"] = claims.issued_at;
  json["iat"] = claims.issued_at;
  put("jti", claims.id);
  return boost::json::serialize(json);
}

}  // namespace nomad::identity
