# As the official image does it: the first start makes the user and the database that the environment names.
set -e
data=/var/lib/postgresql/data
if [ ! -e "$data/PG_VERSION" ]; then
  rm -rf "$data.new"
  printf %s "$POSTGRES_PASSWORD" > /tmp/password
  initdb --pgdata="$data.new" --username="$POSTGRES_USER" --pwfile=/tmp/password --auth=scram-sha-256 --encoding=UTF8 --locale=C
  rm /tmp/password
  echo 'host all all all scram-sha-256' >> "$data.new/pg_hba.conf"
  echo "create database \"$POSTGRES_DB\"" | postgres --single -D "$data.new" postgres > /dev/null
  mv "$data.new" "$data"
fi
exec postgres -D "$data" -c listen_addresses='*' -c unix_socket_directories=/tmp
