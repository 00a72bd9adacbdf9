-- What all accounts used on some days is asked by operators.
create index daily_usage_by_day on metering.daily_usage (day);
