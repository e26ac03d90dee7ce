"""Results for people and for continuous integration: progress displays and JUnit files."""
