#include "cli/migrate/from_flags.hpp"

#include <cstdlib>

namespace nomad::cli::migrate {

FromFlags::FromFlags(Arguments& arguments) {
  if (const char* token = std::getenv("NOMAD_FROM_TOKEN")) flags.token = token;
  arguments.option("from", flags.address, "The address of the cluster that is moved from.");
  arguments.option("from-token", flags.token,
                   "The secret of an ACL token of that cluster; also NOMAD_FROM_TOKEN.");
  arguments.option("from-ca-cert", flags.ca_cert, "Its CA's certificate, a PEM file.");
  arguments.option("from-ca-path", flags.ca_path, "A folder of such files.");
  arguments.option("from-client-cert", flags.client_cert,
                   "A certificate to show to it, a PEM file.");
  arguments.option("from-client-key", flags.client_key, "The key of that certificate.");
  arguments.option("from-tls-server-name", flags.tls_server_name,
                   "The name in its agents' certificate.");
  arguments.flag("from-tls-skip-verify", flags.tls_skip_verify, "Believes any certificate of it.");
}

Result<Cluster> read_from(Api& api, VariableItems items) {
  auto cluster = read_cluster(api, items);
  if (cluster || cluster.error().code != Errc::permission_denied) return cluster;
  // Not the advice that other commands give: NOMAD_TOKEN is of the cluster here.
  return Error{Errc::rejected, cluster.error().what
                                   + "\nSet NOMAD_FROM_TOKEN or -from-token to a management token "
                                     "of the cluster that is moved from."};
}

}  // namespace nomad::cli::migrate
